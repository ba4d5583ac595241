#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <emulator/block.h>
#include <string>

// Device code is compiled with -fsanitize=alignment, which calls these functions (libubsan's) where an address does not
// have the alignment of its type.  A GPU has no such loads and stores: the kernel fails.
namespace {

struct Mismatch {
  const char* file;
  std::uint32_t line, column;
  const struct {
    std::uint16_t kind, info;
    char name[1];
  } * type;
  unsigned char log_alignment, kind;
};

}  // namespace

extern "C" {

void __ubsan_handle_type_mismatch_v1_abort(const Mismatch* what, const void* address);
void __ubsan_handle_type_mismatch_v1_abort(const Mismatch* what, const void* address) {
  const std::string text = "misaligned address: " + std::string(what->type->name) + " needs " +
                           std::to_string(1 << what->log_alignment) + " bytes, and this is " +
                           std::to_string(reinterpret_cast<std::uintptr_t>(address) % (1u << what->log_alignment)) +
                           " behind";
  if (emulator::in_kernel()) emulator::fault({what->file, static_cast<int>(what->line)}, text);
  std::fprintf(stderr, "%s:%u: %s, in host code\n", what->file, what->line, text.c_str());
  std::abort();
}

}  // extern "C"
