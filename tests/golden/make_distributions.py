"""Golden values of distributions: densities, entropies, divergences, means and variances, with all gradients (PyTorch 2.15)."""
import torch
from book import Book, randn
from torch import distributions as d


def main():
    book = Book("distributions")
    f64 = torch.float64

    def parameter(name, *shape, positive=False):
        x = randn(name, *shape, dtype=f64)
        return x.abs() + 0.3 if positive else x

    def simplex(name, *shape):
        return torch.softmax(randn(name, *shape, dtype=f64), -1)

    real, positive = parameter("real", 3), parameter("positive", 2, 3, positive=True)
    other_real, other_positive = parameter("other real", 2, 3), parameter("other positive", 3, positive=True)
    at_real, at_positive = parameter("at real", 4, 2, 3), parameter("at positive", 4, 2, 3, positive=True)
    at_unit = torch.sigmoid(parameter("at unit", 4, 2, 3))

    def case(name, make, parameters, others, at):
        """make(*parameters) at `at`, and its divergence from make(*others)."""
        book.case(f"{name}/log_prob", lambda *p: make(*p[:-1]).log_prob(p[-1]), *parameters, at)
        book.case(f"{name}/entropy", lambda *p: make(*p).entropy(), *parameters)
        n = len(parameters)
        book.case(f"{name}/kl", lambda *p: d.kl_divergence(make(*p[:n]), make(*p[n:])), *parameters, *others)
        if name not in ("Categorical", "Categorical logits"):
            book.case(f"{name}/mean", lambda *p: make(*p).mean, *parameters)
            book.case(f"{name}/variance", lambda *p: make(*p).variance, *parameters)

    case("Normal", d.Normal, (real, positive), (other_real, other_positive), at_real)
    case("LogNormal", d.LogNormal, (real, positive), (other_real, other_positive), at_positive)
    case("Laplace", d.Laplace, (real, positive), (other_real, other_positive), at_real)
    low, high = real, real + positive
    case("Uniform", d.Uniform, (low, high), (low - 0.5, high + other_positive),
         low + (high - low) * torch.sigmoid(at_real))
    case("Exponential", d.Exponential, (positive,), (other_positive,), at_positive)
    case("Gamma", d.Gamma, (positive * 2, other_positive), (other_positive, positive), at_positive)
    case("Beta", d.Beta, (positive, other_positive), (other_positive, positive * 2), at_unit)
    case("Dirichlet", d.Dirichlet, (positive,), (other_positive,), simplex("at simplex", 4, 2, 3))
    ones = (at_real > 0).double()
    case("Bernoulli", d.Bernoulli, (at_unit[0],), (at_unit[1],), ones)
    case("Bernoulli logits", lambda x: d.Bernoulli(logits=x), (other_real,), (at_real[1],), ones)
    index = torch.randint(0, 3, (4, 2), generator=torch.Generator().manual_seed(1))
    case("Categorical", d.Categorical, (positive,), (at_positive[0],), index)
    case("Categorical logits", lambda x: d.Categorical(logits=x), (other_real,), (at_real[1],), index)

    def lower(x):
        return torch.tril(x, -1) + torch.diag_embed(torch.diagonal(x, dim1=-2, dim2=-1).abs() + 0.5)

    l, m = lower(parameter("lower", 2, 3, 3)), lower(parameter("other lower", 3, 3))
    case("MultivariateNormal", lambda x, t: d.MultivariateNormal(x, scale_tril=t), (real, l), (other_real, m), at_real)
    case("MultivariateNormal covariance", d.MultivariateNormal, (real, l @ l.mT), (other_real, m @ m.mT), at_real)
    case("Independent", lambda x, y: d.Independent(d.Normal(x, y), 1), (real, positive),
         (other_real, other_positive), at_real)

    # The gradients of samples of the gamma distribution.
    a = torch.tensor([0.01, 0.2, 0.7, 1.0, 2.5, 6.0, 8.5, 20.0, 300.0], dtype=f64)
    quantiles = torch.tensor([0.05, 0.4, 0.95, 1.05, 1.6], dtype=f64)
    x = a * quantiles[:, None]
    book.put("standard_gamma_grad/concentration", a)
    book.put("standard_gamma_grad/value", x)
    book.put("standard_gamma_grad/grad", torch._standard_gamma_grad(a.expand_as(x).contiguous(), x))
    book.close()


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
