"""Golden values of metrics, from scikit-learn: metrics.safetensors.

    python make_metrics.py (needs scikit-learn and torch)"""
import torch
from sklearn import metrics

from book import Book, randn, rng


def numbers(*values):
    return torch.tensor(values, dtype=torch.float64)


def classes(book, name, scores, target):
    """Accuracy of the largest one and two, and of each class and each average precision, recall, F1 and IoU."""
    count = scores.shape[1]
    book.put(f"{name}/scores", scores)
    book.put(f"{name}/target", target)
    labels = list(range(count))
    found = scores.argmax(1)
    book.put(f"{name}/counts", torch.tensor(metrics.confusion_matrix(target, found, labels=labels)))
    of_two = metrics.top_k_accuracy_score(target, scores, k=2, labels=labels) if count > 2 else 1.0
    book.put(f"{name}/accuracy", numbers(metrics.accuracy_score(target, found), of_two))
    of_class, averages = [], []
    for of in (metrics.precision_score, metrics.recall_score, metrics.f1_score, metrics.jaccard_score):
        options = {"labels": labels, "zero_division": 0}
        of_class.append(torch.tensor(of(target, found, average=None, **options), dtype=torch.float64))
        averages.append(numbers(*(of(target, found, average=a, **options) for a in ("micro", "macro", "weighted"))))
    book.put(f"{name}/of_class", torch.stack(of_class))
    book.put(f"{name}/averages", torch.stack(averages))


def binary(book, name, scores, target):
    book.put(f"{name}/scores", scores)
    book.put(f"{name}/target", target)
    book.put(f"{name}/areas", numbers(metrics.roc_auc_score(target, scores),
                                      metrics.average_precision_score(target, scores)))


def regression(book, name, predicted, target):
    book.put(f"{name}/predicted", predicted)
    book.put(f"{name}/target", target)
    wanted, given = target.double(), predicted.double()
    book.put(f"{name}/errors", numbers(metrics.mean_squared_error(wanted, given),
                                       metrics.mean_absolute_error(wanted, given), metrics.r2_score(wanted, given)))


def main():
    book = Book("metrics")

    def integers(name, high, *shape):
        return torch.randint(high, shape, generator=rng(name))

    classes(book, "classes/five", randn("five", 60, 5), integers("five", 5, 60))
    classes(book, "classes/two", randn("two", 40, 2), integers("two", 2, 40))
    # The last classes are never the target, and one of them is never found.
    absent = randn("absent", 30, 6)
    absent[:, 5] -= 100
    classes(book, "classes/absent", absent, integers("absent", 3, 30))
    binary(book, "binary/float32", randn("binary", 50), integers("binary", 2, 50))
    binary(book, "binary/ties", randn("ties", 80).mul(2).round(), integers("ties", 2, 80))
    binary(book, "binary/equal", torch.zeros(9), integers("equal", 2, 9))
    y = randn("regression", 70)
    regression(book, "regression/near", y + 0.3 * randn("error", 70), y)
    regression(book, "regression/far from 0", (y + 0.3 * randn("error", 70)).double() + 1e6, y.double() + 1e6)
    regression(book, "regression/worse than the mean", randn("other", 20), randn("wanted", 20))
    book.close()


main()
