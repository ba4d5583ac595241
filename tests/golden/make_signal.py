"""Golden values of spectra over time, windows and mel filter banks (PyTorch 2.15; the banks by torchaudio's formula)."""
import numpy as np
import torch
from book import Book, randn


def mel_banks(n_freqs, n_mels, rate, f_min, f_max, slaney, area):
    """torchaudio.functional.melscale_fbanks in float64."""
    def to_mel(f):
        if not slaney:
            return 2595 * np.log10(1 + f / 700)
        return f * 3 / 200 if f < 1000 else 15 + np.log(f / 1000) / (np.log(6.4) / 27)

    def to_hz(m):
        if not slaney:
            return 700 * (10 ** (m / 2595) - 1)
        return np.where(m < 15, m * 200 / 3, 1000 * np.exp((np.log(6.4) / 27) * (m - 15)))

    freqs = np.linspace(0, rate // 2, n_freqs)
    points = to_hz(np.linspace(to_mel(f_min), to_mel(f_max), n_mels + 2))
    diff, slopes = points[1:] - points[:-1], points[None, :] - freqs[:, None]
    banks = np.maximum(0, np.minimum(-slopes[:, :-2] / diff[:-1], slopes[:, 2:] / diff[1:]))
    return torch.tensor(banks * (2 / (points[2:] - points[:-2]) if area else 1), dtype=torch.float32)


def main():
    book = Book("signal")
    real, complex_ = torch.view_as_real, torch.view_as_complex
    x, window = randn("x", 2, 37), randn("window", 6) + 2

    def stft(t, n_fft, **options):
        return real(torch.stft(t, n_fft, return_complex=True, **options))

    book.case("stft/8", lambda t: stft(t, 8), x)
    book.case("stft/vector", lambda t: stft(t, 16, hop_length=5, pad_mode="replicate"), x[0])
    book.case("stft/plain", lambda t: stft(t, 10, hop_length=3, center=False), x)
    book.case("stft/window", lambda t, w: stft(t, 9, hop_length=4, win_length=6, window=w, normalized=True), x, window)
    z = randn("z", 2, 5, 7, 2)
    book.case("istft/8", lambda t: torch.istft(complex_(t), 8), z)
    book.case("istft/plain", lambda t: torch.istft(complex_(t), 8, hop_length=8, center=False), z)
    for name, length in (("window", None), ("cut", 3)):
        book.case(f"istft/{name}", lambda t, w: torch.istft(
            complex_(t), 9, hop_length=4, win_length=6, window=w, normalized=True, length=length), z, window)
    book.case("istft/long", lambda t: torch.istft(complex_(t), 8, length=30), z)
    none = torch.zeros(())
    for name in ("hann", "hamming", "blackman", "bartlett"):
        make = getattr(torch, f"{name}_window")
        for n in (0, 1, 2, 7, 8):
            for periodic in (False, True):
                book.case(f"{name}_window/{n},{int(periodic)}", lambda x: make(n, periodic=periodic), none, grad=False)
    for scale, (area, low, high) in enumerate(((False, 0, 4000), (True, 60, 3500))):
        book.case(f"melscale_fbanks/{scale}", lambda x: mel_banks(33, 10, 8000, low, high, scale == 1, area), none,
                  grad=False)
    book.close()
