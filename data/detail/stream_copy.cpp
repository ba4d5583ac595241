#include <minnow/data/detail/stream_copy.h>

#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace minnow::data::detail {

#if defined(__SSE2__)

void copy_past_cache(const void* from, void* to, std::size_t bytes) {
  constexpr std::size_t kWord = sizeof(__m128i);
  const auto* source = static_cast<const char*>(from);
  auto* target = static_cast<char*>(to);
  std::size_t at = 0;
  if (reinterpret_cast<std::uintptr_t>(target) % kWord == 0)
    for (; at + kWord <= bytes; at += kWord)
      _mm_stream_si128(reinterpret_cast<__m128i*>(target + at),
                       _mm_loadu_si128(reinterpret_cast<const __m128i*>(source + at)));
  std::memcpy(target + at, source + at, bytes - at);
}

void finish_copies() { _mm_sfence(); }

#else

void copy_past_cache(const void* from, void* to, std::size_t bytes) { std::memcpy(to, from, bytes); }

void finish_copies() {}

#endif

}  // namespace minnow::data::detail
