#include <minnow/tensor/io/detail/torch_file.h>

#include <algorithm>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <minnow/tensor/checked.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/io/detail/json_reader.h>
#include <minnow/tensor/io/detail/npy_header.h>
#include <minnow/tensor/io/detail/pickle.h>
#include <minnow/tensor/io/detail/selection.h>
#include <minnow/tensor/io/detail/zip.h>
#include <minnow/tensor/raw/transfer.h>
#include <minnow/tensor/runtime/allocator.h>

namespace minnow::io::detail {
namespace {

using Kind = PickleValue::Kind;
using Id = std::uint32_t;

struct Type {
  std::string_view storage, name;
  DType dtype;
};
constexpr Type kTypes[] = {{"torch.FloatStorage", "torch.float32", DType::float32},
                           {"torch.DoubleStorage", "torch.float64", DType::float64},
                           {"torch.HalfStorage", "torch.float16", DType::float16},
                           {"torch.BFloat16Storage", "torch.bfloat16", DType::bfloat16},
                           {"torch.LongStorage", "torch.int64", DType::int64},
                           {"torch.IntStorage", "torch.int32", DType::int32},
                           {"torch.ShortStorage", "torch.int16", DType::int16},
                           {"torch.CharStorage", "torch.int8", DType::int8},
                           {"torch.ByteStorage", "torch.uint8", DType::uint8},
                           {"torch.BoolStorage", "torch.bool", DType::bool_}};

/// A tensor that is described completely.
struct Described {
  DType dtype = DType::float32;
  Shape shape;
  Strides strides;
  std::int64_t offset = 0;
  const ZipMember* storage = nullptr;
};

class TorchReader {
 public:
  explicit TorchReader(const InputFile& file) : file_(file), members_(read_zip_directory(file)) {
    constexpr std::string_view kPickle = "/data.pkl";
    for (const ZipMember& member : members_) {
      by_name_.emplace(member.name, &member);
      if (member.name.ends_with(kPickle) && member.name.find('/') == member.name.size() - kPickle.size())
        folder_ = member.name.substr(0, member.name.size() - kPickle.size() + 1);
    }
    if (folder_.empty()) throw Refusal{"a zip archive without data.pkl", "one that torch.save() wrote"};
    if (by_name_.contains(folder_ + "constants.pkl"))
      throw Refusal{"a TorchScript archive, which holds a program", "a state dict that torch.save() wrote"};
    if (const ZipMember* order = find("byteorder")) {
      const std::string text = order->size > 6 ? "" : content(*order);
      if (text != "little" && text != "big") throw Refusal{"another byte order than little and big", "one of them"};
      big_endian_ = text == "big";
    }
    const std::string bytes = content(checked_pickle(*find("data.pkl")));
    pickle_ = read_pickle(bytes);
    flatten(bytes.size());
  }

  const std::vector<std::string>& names() const { return names_; }
  const Metadata& metadata() const { return metadata_; }

  /// Checks everything that does not need the tensor's bytes; nothing for a number.
  std::optional<Described> describe(std::size_t i) const {
    const PickleValue& value = pickle_[values_[i]];
    if (value.kind != Kind::tensor) return {};
    const PickleValue& storage = pickle_[value.items[0]];
    const std::string& type = pickle_[value.items.size() > 3 ? value.items[3] : storage.items[0]].text;
    const auto found = std::find_if(std::begin(kTypes), std::end(kTypes),
                                    [&](const Type& t) { return t.storage == type || t.name == type; });
    const auto refuse = [&](const std::string& what, const std::string& expected) {
      throw Refusal{"the tensor '" + names_[i] + "' " + what, expected};
    };
    if (found == std::end(kTypes)) refuse("of " + type + ", which minnow does not have", "one of Tensor's dtypes");
    Described out;
    out.dtype = found->dtype;
    out.storage = find("data/" + storage.text);
    if (out.storage == nullptr) refuse("whose elements, '" + storage.text + "', are missing", "a complete archive");
    const auto item = static_cast<std::int64_t>(size_of(out.dtype));
    const bool untyped = pickle_[storage.items[0]].text == "torch.storage.UntypedStorage";  // counted in bytes
    const auto bytes = static_cast<std::int64_t>(out.storage->size);
    if (bytes < 0 || storage.number < 0 || saturating_mul(storage.number, untyped ? 1 : item) != bytes ||
        bytes % item != 0)
      refuse("over " + std::to_string(storage.number) + " elements in " + std::to_string(bytes) + " bytes",
             "the bytes of its elements");
    const auto sizes = numbers(value.items[1], names_[i]), strides = numbers(value.items[2], names_[i]);
    if (sizes.size() != strides.size() || sizes.size() > static_cast<std::size_t>(kMaxRank))
      refuse("of " + std::to_string(sizes.size()) + " sizes and " + std::to_string(strides.size()) + " strides",
             "as many of both, at most " + std::to_string(kMaxRank));
    place(out, value.number, sizes, strides, bytes / item, refuse);
    return out;
  }

  Tensor read(std::size_t i, const std::optional<Described>& described, Device device, SourceLocation where) {
    if (!described) return raw::to_device({number_tensor(pickle_[values_[i]]), where}, device);
    auto& [elements, dtype] = storages_[described->storage];
    if (!elements.defined()) {
      auto storage =
          std::make_shared<Storage>(cpu_allocator(), Device(), static_cast<std::size_t>(described->storage->size));
      const std::span<std::byte> bytes(static_cast<std::byte*>(storage->data()), described->storage->size);
      read_zip_member(file_, *described->storage, bytes);
      NpyHeader header;
      header.dtype = dtype = described->dtype;
      header.big_endian = big_endian_;
      finish_elements(header, bytes);
      const Shape all{static_cast<std::int64_t>(bytes.size() / size_of(dtype))};
      elements = raw::to_device({Tensor(std::move(storage), dtype, all, contiguous_strides(all)), where}, device);
    }
    if (dtype != described->dtype)
      throw Refusal{"the tensor '" + names_[i] + "' over elements of " + std::string(name_of(dtype)),
                    std::string(name_of(described->dtype))};
    return Tensor(elements.storage(), dtype, described->shape, described->strides, described->offset);
  }

 private:
  const ZipMember* find(const std::string& name) const {
    const auto found = by_name_.find(folder_ + name);
    return found == by_name_.end() ? nullptr : found->second;
  }
  /// A byte of a pickle becomes up to 150 of memory: a small file must not unpack to a large pickle.
  static const ZipMember& checked_pickle(const ZipMember& member) {
    constexpr std::uint64_t kFree = 1 << 20, kMaxRatio = 16;
    if (member.size > kFree && member.size / kMaxRatio > member.packed)
      throw Refusal{"a pickle of " + std::to_string(member.size) + " bytes that is compressed to " +
                        std::to_string(member.packed),
                    "at most " + std::to_string(kMaxRatio) + " times as many, or a pickle that is not compressed"};
    return member;
  }
  std::string content(const ZipMember& member) const {
    std::string text(member.size, '\0');
    read_zip_member(file_, member, std::as_writable_bytes(std::span(text)));
    return text;
  }

  std::vector<std::int64_t> numbers(Id id, const std::string& name) const {
    std::vector<std::int64_t> out;
    for (const Id item : pickle_[id].items) {
      if (pickle_[item].kind != Kind::integer || pickle_[item].number < 0 || out.size() > kMaxRank)
        throw Refusal{"the tensor '" + name + "' with something else among its sizes and strides",
                      "at most " + std::to_string(kMaxRank) + " numbers from 0"};
      out.push_back(pickle_[item].number);
    }
    return out;
  }

  /// Checks that all elements are among the `count` of the storage.
  template <class Refuse>
  static void place(Described& out, std::int64_t first, const std::vector<std::int64_t>& sizes,
                    const std::vector<std::int64_t>& strides, std::int64_t count, const Refuse& refuse) {
    std::int64_t elements = 1, padded = static_cast<std::int64_t>(size_of(out.dtype)), last = first;
    for (std::size_t d = 0; d < sizes.size(); ++d) {
      out.shape.push_back(sizes[d]);
      elements = saturating_mul(elements, sizes[d]);
      padded = saturating_mul(padded, std::max<std::int64_t>(sizes[d], 1));
    }
    constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
    if (padded == kLargest) refuse("of shape " + out.shape.str(), "fewer than 2^63 bytes");
    out.strides = contiguous_strides(out.shape);
    if (elements == 0) return;
    for (std::size_t d = 0; d < sizes.size(); ++d) {
      out.strides[static_cast<int>(d)] = strides[d];
      if (__builtin_add_overflow(last, saturating_mul(sizes[d] - 1, strides[d]), &last)) last = kLargest;
    }
    if (first < 0 || last >= count)
      refuse("with elements up to " + std::to_string(last) + " from " + std::to_string(first),
             "numbers from 0 and below " + std::to_string(count) + ", the elements of its storage");
    // Dimensions of stride 0 repeat elements: a small file must not describe what no memory can hold.
    constexpr std::int64_t kMany = 1 << 20, kRepeats = 1 << 10;
    if (elements > kMany && elements > saturating_mul(count, kRepeats))
      refuse("that repeats " + std::to_string(count) + " elements as " + std::to_string(elements),
             "at most " + std::to_string(kRepeats) + " times as many");
    out.offset = first;
  }

  static bool is_number(const PickleValue& value) {
    return value.kind == Kind::integer || value.kind == Kind::real || value.kind == Kind::boolean;
  }
  /// Whether it is a list or tuple of numbers that becomes one tensor.
  bool is_row(const PickleValue& value) const {
    if ((value.kind != Kind::list && value.kind != Kind::tuple) || value.items.empty()) return false;
    const bool booleans = pickle_[value.items[0]].kind == Kind::boolean;
    return std::all_of(value.items.begin(), value.items.end(), [&](Id item) {
      return is_number(pickle_[item]) && (pickle_[item].kind == Kind::boolean) == booleans;
    });
  }
  Tensor number_tensor(const PickleValue& value) const {
    const bool row = !is_number(value);
    std::vector<const PickleValue*> all;
    if (!row) all.push_back(&value);
    else
      for (const Id item : value.items) all.push_back(&pickle_[item]);
    const auto any = [&all](Kind kind) {
      return std::any_of(all.begin(), all.end(), [kind](const PickleValue* v) { return v->kind == kind; });
    };
    const DType dtype = any(Kind::real) ? DType::float64 : any(Kind::boolean) ? DType::bool_ : DType::int64;
    auto storage = std::make_shared<Storage>(cpu_allocator(), Device(), all.size() * size_of(dtype));
    for (std::size_t i = 0; i < all.size(); ++i) {
      const PickleValue& v = *all[i];
      if (dtype == DType::float64)
        static_cast<double*>(storage->data())[i] = v.kind == Kind::real ? v.real : static_cast<double>(v.number);
      else if (dtype == DType::bool_) static_cast<bool*>(storage->data())[i] = v.number != 0;
      else static_cast<std::int64_t*>(storage->data())[i] = v.number;
    }
    const Shape shape = row ? Shape{static_cast<std::int64_t>(all.size())} : Shape{};
    return Tensor(std::move(storage), dtype, shape, contiguous_strides(shape));
  }

  /// Gives names to all tensors, numbers and strings: the keys on the way to them, joined by dots.  Without recursion;
  /// containers that are in each other, and values that are in many places, end at the limits.
  void flatten(std::size_t pickle_bytes) {
    struct Level {
      Id container;
      std::size_t next, name;  // the next item, and the length of the container's own name
    };
    constexpr std::size_t kMaxLevels = 64, kMostBytes = 64;  // for each byte of the pickle
    std::vector<Level> levels;
    std::unordered_set<std::string> seen;
    std::string name;
    std::size_t visits = 0, bytes = 0;  // bytes: of names, strings and rows
    const auto visit = [&](Id id) {
      const PickleValue& value = pickle_[id];
      const bool row = is_row(value);
      bytes += name.size() + value.text.size() + (row ? value.items.size() * sizeof(std::int64_t) : 0);
      if (++visits > pickle_bytes || bytes > kMostBytes * pickle_bytes || levels.size() > kMaxLevels)
        throw Refusal{"containers that hold each other, or values that are in many places", "fewer of them"};
      if (value.kind == Kind::none) return;
      if (!row && (value.kind == Kind::dict || value.kind == Kind::list || value.kind == Kind::tuple)) {
        levels.push_back({id, 0, name.size()});
        return;
      }
      if (value.kind == Kind::storage) throw Refusal{"a storage, '" + name + "'", "tensors"};
      if (!seen.insert(name).second) throw Refusal{"the name '" + name + "' twice", "every name once"};
      if (value.kind == Kind::string || value.kind == Kind::global) {
        metadata_.emplace(name, value.text);
        return;
      }
      names_.push_back(name);
      values_.push_back(id);
    };
    visit(pickle_.root);
    while (!levels.empty()) {
      Level& level = levels.back();
      const PickleValue& container = pickle_[level.container];
      name.resize(level.name);
      if (level.next >= container.items.size()) {
        levels.pop_back();
        continue;
      }
      if (levels.size() > 1) name += '.';
      if (container.kind == Kind::dict) {
        const PickleValue& key = pickle_[container.items[level.next++]];
        if (key.kind != Kind::string && key.kind != Kind::integer)
          throw Refusal{"a key in '" + name + "' that is neither text nor a number", "one of these"};
        name += key.kind == Kind::string ? key.text : std::to_string(key.number);
      } else {
        name += std::to_string(level.next);
      }
      visit(container.items[level.next++]);
    }
  }

  const InputFile& file_;
  std::vector<ZipMember> members_;
  std::map<std::string_view, const ZipMember*, std::less<>> by_name_;
  std::string folder_;
  bool big_endian_ = false;
  Pickle pickle_;
  std::vector<std::string> names_;
  std::vector<Id> values_;
  Metadata metadata_;
  std::map<const ZipMember*, std::pair<Tensor, DType>> storages_;
};

/// Calls read(), and says which file it was in errors.
template <class Read> auto guarded(const char* op, const InputFile& file, SourceLocation where, const Read& read) {
  try {
    return read();
  } catch (const Refusal& refusal) {
    throw FormatError(std::string(op) + ": '" + file.path() +
                          "' is not a file of torch.save() that minnow can read\n  found     " + refusal.found +
                          "\n  expected  " + refusal.expected +
                          "\nsave a state dict in Python: torch.save(model.state_dict(), path)",
                      where);
  } catch (const std::bad_alloc&) {
    throw OutOfMemoryError(
        std::string(op) + ": no memory for '" + file.path() + "'\nload a part with .prefix, or use .safetensors",
        where);
  }
}

}  // namespace

StateDict load_torch(const InputFile& file, const LoadOptions& options, SourceLocation where) {
  return guarded("load", file, where, [&] {
    TorchReader reader(file);
    const std::vector<Selected> selected = select(options, reader.names(), file.path(), where);
    std::vector<std::optional<Described>> described;
    described.reserve(selected.size());
    for (const Selected& s : selected) described.push_back(reader.describe(s.index));
    StateDict tensors;
    for (std::size_t i = 0; i < selected.size(); ++i)
      tensors.set(selected[i].name, reader.read(selected[i].index, described[i], options.device, where));
    return tensors;
  });
}

Metadata load_torch_metadata(const char* op, const InputFile& file, SourceLocation where) {
  return guarded(op, file, where, [&] { return TorchReader(file).metadata(); });
}

}  // namespace minnow::io::detail
