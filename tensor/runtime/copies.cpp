#include <minnow/tensor/runtime/copies.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <link.h>
#include <string>
#include <string_view>
#include <minnow/tensor/runtime/warning.h>

extern "C" {
/// Whether this copy is in use: another one finds it by the note below.
[[gnu::visibility("hidden"), gnu::used]] constinit std::atomic<bool> minnow_copy_in_use = false;
}

// An ELF note "minnow" with the distance to that flag.  Unlike a symbol it is found in stripped programs, which export
// nothing, and in plugins that were opened with RTLD_LOCAL.
asm(R"(
.pushsection .note.minnow, "a", %note
.balign 4
.long 7, 8, 1
.asciz "minnow"
.balign 4
.quad minnow_copy_in_use - .
.popsection
)");

namespace minnow::detail {
namespace {

constexpr std::string_view kName("minnow\0", 7);

/// Adds to a text the file of each copy that is in use.
int add_copies(dl_phdr_info* file, std::size_t, void* text) {
  for (int i = 0; i < file->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = file->dlpi_phdr[i];
    const std::size_t align = part.p_align == 8 ? 8 : 4;
    const auto padded = [align](std::size_t size) { return (size + align - 1) / align * align; };
    const auto* at = reinterpret_cast<const char*>(file->dlpi_addr + part.p_vaddr);
    const char* end = part.p_type == PT_NOTE ? at + part.p_memsz : at;
    while (end - at > static_cast<std::ptrdiff_t>(sizeof(ElfW(Nhdr)))) {
      ElfW(Nhdr) note;
      std::memcpy(&note, at, sizeof note);
      const std::size_t content = padded(sizeof note + note.n_namesz);
      if (std::string_view(at + sizeof note, note.n_namesz) == kName) {
        std::int64_t distance = 0;
        std::memcpy(&distance, at + content, sizeof distance);
        const std::string path = file->dlpi_name;
        if (reinterpret_cast<const std::atomic<bool>*>(at + content + distance)->load())
          *static_cast<std::string*>(text) +=
              "\n  " + (path.empty() ? std::filesystem::read_symlink("/proc/self/exe").string() : path);
      }
      at += padded(content + note.n_descsz);
    }
  }
  return 0;
}

}  // namespace

void warn_of_copies() noexcept {
  minnow_copy_in_use = true;
  try {
    std::string files;
    dl_iterate_phdr(add_copies, &files);
    if (files.find('\n', 1) == std::string::npos) return;
    warn("several copies of minnow are in use in this process:" + files +
         "\neach has its own grad mode, default generator, devices and order of the graph, and a tensor of one may "
         "fail in "
         "the other\nlink minnow's shared library in all of them (cmake -DBUILD_SHARED_LIBS=ON; "
         "docs/in-your-project.md, \"Plugins\")");
  } catch (...) {  // without /proc or memory there is no warning
  }
}

}  // namespace minnow::detail
