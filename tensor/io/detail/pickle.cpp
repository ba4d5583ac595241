#include <minnow/tensor/io/detail/pickle.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <span>
#include <utility>
#include <minnow/tensor/io/detail/json_reader.h>

namespace minnow::io::detail {
namespace {

using Kind = PickleValue::Kind;
using Id = std::uint32_t;

/// Operations that are refused, by name.  The others are in Reader::step().
struct Name {
  std::uint8_t code;
  const char* text;
};
constexpr Name kRefused[] = {{'0', "POP"},
                             {'1', "POP_MARK"},
                             {'2', "DUP"},
                             {'F', "FLOAT"},
                             {'I', "INT"},
                             {'L', "LONG"},
                             {'P', "PERSID"},
                             {'S', "STRING"},
                             {'T', "BINSTRING"},
                             {'U', "SHORT_BINSTRING"},
                             {'V', "UNICODE"},
                             {'d', "DICT"},
                             {'g', "GET"},
                             {'i', "INST"},
                             {'l', "LIST"},
                             {'o', "OBJ"},
                             {'p', "PUT"},
                             {'B', "BINBYTES"},
                             {'C', "SHORT_BINBYTES"},
                             {0x81, "NEWOBJ"},
                             {0x82, "EXT1"},
                             {0x83, "EXT2"},
                             {0x84, "EXT4"},
                             {0x8b, "LONG4"},
                             {0x8e, "BINBYTES8"},
                             {0x8f, "EMPTY_SET"},
                             {0x90, "ADDITEMS"},
                             {0x91, "FROZENSET"},
                             {0x92, "NEWOBJ_EX"},
                             {0x96, "BYTEARRAY8"},
                             {0x97, "NEXT_BUFFER"},
                             {0x98, "READONLY_BUFFER"}};

constexpr const char* kExpected = "a dictionary of tensors, numbers, strings, lists and tuples";

/// Whether a pickle may name it.
bool is_known(std::string_view global) {
  constexpr std::string_view kTorch = "torch.";
  constexpr std::string_view kWhole[] = {"collections.OrderedDict",
                                         "torch.Size",
                                         "torch.device",
                                         "torch.storage.UntypedStorage",
                                         "torch._utils._rebuild_tensor_v2",
                                         "torch._utils._rebuild_tensor_v3",
                                         "torch._utils._rebuild_parameter",
                                         "torch._utils._rebuild_parameter_with_state"};
  if (std::find(std::begin(kWhole), std::end(kWhole), global) != std::end(kWhole)) return true;
  constexpr std::size_t kMax = 100;
  if (global.size() > kMax || !global.starts_with(kTorch) || global.find('.', kTorch.size()) != global.npos)
    return false;
  const std::string_view name = global.substr(kTorch.size());  // of a type of storage, or a dtype
  constexpr std::string_view kDTypes[] = {"float", "bfloat", "int", "uint", "bool", "complex", "qint", "quint"};
  return name.ends_with("Storage") || std::any_of(std::begin(kDTypes), std::end(kDTypes),
                                                  [name](std::string_view start) { return name.starts_with(start); });
}

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {
    for (const Kind kind : {Kind::none, Kind::boolean, Kind::boolean, Kind::tuple}) pickle_.values.push_back({kind});
    pickle_.values[kTrue].number = 1;
  }

  Pickle read() {
    while (step(static_cast<std::uint8_t>(take(1)[0]))) {}
    if (stack_.size() != 1 || !marks_.empty() || at_ != bytes_.size()) fail("a pickle that is not one value", "one");
    pickle_.root = stack_[0];
    return std::move(pickle_);
  }

 private:
  static constexpr std::size_t kMaxWord = 1000;
  static constexpr Id kNone = 0, kFalse = 1, kTrue = 2, kEmptyTuple = 3;

  [[noreturn]] void fail(const std::string& found, const std::string& expected) const {
    throw Refusal{found + " at byte " + std::to_string(at_) + " of the pickle", expected};
  }

  std::string_view take(std::uint64_t size) {
    if (size > bytes_.size() - at_) fail("a pickle that ends too early", "its STOP");
    at_ += size;
    return bytes_.substr(at_ - size, size);
  }
  std::uint64_t number(std::size_t size) {
    const std::string_view bytes = take(size);
    std::uint64_t value = 0;
    for (std::size_t i = size; i-- > 0;) value = value << 8 | static_cast<std::uint8_t>(bytes[i]);
    return value;
  }
  std::string_view line() {
    const std::size_t end = bytes_.find('\n', at_);
    const std::string_view text = take((end == bytes_.npos ? bytes_.size() : end) - at_);
    take(1);
    return text;
  }

  Id add(PickleValue value) {
    pickle_.values.push_back(std::move(value));
    return static_cast<Id>(pickle_.values.size() - 1);
  }
  void push(Id id) { stack_.push_back(id); }
  void push(Kind kind, std::int64_t value = 0) { push(add({kind, value})); }
  Id pop() {
    if (stack_.size() <= (marks_.empty() ? 0 : marks_.back())) fail("an operation without operands", "a valid pickle");
    const Id id = stack_.back();
    stack_.pop_back();
    return id;
  }
  std::vector<Id> pop_to_mark() {
    if (marks_.empty()) fail("an operation without its MARK", "a valid pickle");
    const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<Id> items(begin, stack_.end());
    stack_.erase(begin, stack_.end());
    marks_.pop_back();
    return items;
  }
  PickleValue& of(Id id, Kind kind, const char* what) {
    PickleValue& value = pickle_.values[id];
    if (value.kind != kind) fail(std::string("something else where ") + what + " should be", what);
    return value;
  }

  /// A tuple's items, of which there are few: a pickle may name a long one again and again.
  std::vector<Id> few(Id id, const char* what) {
    const PickleValue& tuple = of(id, Kind::tuple, what);
    if (tuple.items.size() > 8) fail(std::to_string(tuple.items.size()) + " items", what);
    return tuple.items;
  }
  /// The same of a string.
  std::string word(Id id, const char* what) {
    const PickleValue& text = of(id, Kind::string, what);
    if (text.text.size() > kMaxWord) fail("a string of " + std::to_string(text.text.size()) + " bytes", what);
    return text.text;
  }

  void push_string(std::uint64_t size) {
    const std::string_view text = take(size);
    if (!is_utf8(text)) fail("a string that is not UTF-8", "UTF-8");
    push(add({Kind::string, 0, 0, std::string(text)}));
  }
  void push_long() {
    const auto size = static_cast<std::size_t>(number(1));
    if (size > 8) fail("an integer of more than 64 bits", "integers of at most 64 bits");
    std::uint64_t value = number(size);
    if (size > 0 && size < 8 && (value >> (8 * size - 1) & 1) != 0) value |= ~std::uint64_t{0} << (8 * size);
    push(Kind::integer, static_cast<std::int64_t>(value));
  }
  void push_real() {
    std::uint64_t value = 0;
    for (const char byte : take(8)) value = value << 8 | static_cast<std::uint8_t>(byte);
    push(add({Kind::real, 0, std::bit_cast<double>(value)}));
  }
  void push_tuple(std::vector<Id> items) {
    push(items.empty() ? kEmptyTuple : add({Kind::tuple, 0, 0, {}, std::move(items)}));
  }
  void push_tuple(std::size_t size) {
    std::vector<Id> items(size);
    for (std::size_t i = size; i-- > 0;) items[i] = pop();
    push_tuple(std::move(items));
  }
  void push_global(std::string_view module, std::string_view name) {
    std::string global = std::string(module) + "." + std::string(name);
    if (!is_known(global)) throw Refusal{"the Python object " + json_quoted(global.substr(0, 200)), kExpected};
    push(add({Kind::global, 0, 0, std::move(global)}));
  }

  void append(const std::vector<Id>& items) {
    auto& all = of(top(), Kind::list, "a list").items;
    all.insert(all.end(), items.begin(), items.end());
  }
  void set_items(const std::vector<Id>& items) {
    if (items.size() % 2 != 0) fail("a key without a value", "keys and values in turn");
    auto& all = of(top(), Kind::dict, "a dictionary").items;
    all.insert(all.end(), items.begin(), items.end());
  }
  Id top() {
    const Id id = pop();
    push(id);
    return id;
  }

  void put(std::uint64_t slot) {
    if (slot > bytes_.size()) fail("the number " + std::to_string(slot) + " of a value", "numbers in order");
    if (slot >= memo_.size()) memo_.resize(slot + 1, kUnset);
    memo_[slot] = top();
    ++puts_;
  }
  void get(std::uint64_t slot) {
    if (slot >= memo_.size() || memo_[slot] == kUnset) fail("a value that was not put aside", "a valid pickle");
    push(memo_[slot]);
  }

  /// ("storage", torch.FloatStorage, key, location, number of elements)
  void push_storage() {
    const std::vector<Id> parts = few(pop(), "the parts of a storage");
    if (parts.size() != 5 || word(parts[0], "\"storage\"") != "storage") fail("a persistent object", "a storage");
    const std::string& type = of(parts[1], Kind::global, "the type of a storage").text;
    if (!type.ends_with("Storage")) fail("a storage of the type " + type, "a type such as torch.FloatStorage");
    const std::int64_t count = of(parts[4], Kind::integer, "the size of a storage").number;
    push(add({Kind::storage, count, 0, word(parts[2], "the key of a storage"), {parts[1]}}));
  }

  void call() {
    const std::vector<Id> args = few(pop(), "the arguments of a call");
    const std::string function = of(pop(), Kind::global, "the function of a call").text;
    const bool v3 = function.ends_with("_rebuild_tensor_v3");
    if (function == "collections.OrderedDict" && args.empty()) {
      push(Kind::dict);
    } else if (function == "torch.Size" && args.size() == 1) {
      push(args[0]);
    } else if (function == "torch.device" && !args.empty()) {
      std::string text = word(args[0], "the type of a device");
      if (args.size() > 1) (text += ':') += std::to_string(of(args[1], Kind::integer, "the index of a device").number);
      push(add({Kind::string, 0, 0, std::move(text)}));
    } else if (function.starts_with("torch._utils._rebuild_parameter") && args.size() >= 3) {
      of(args[0], Kind::tensor, "the tensor of a parameter");
      push(args[0]);
    } else if (v3 || function.ends_with("_rebuild_tensor_v2")) {
      push_tensor(args, v3 ? 7 : 6);
    } else {
      fail("a call of " + function + " with " + std::to_string(args.size()) + " arguments", kExpected);
    }
  }
  /// (storage, first element, sizes, strides, requires_grad, hooks[, dtype][, attributes])
  void push_tensor(const std::vector<Id>& args, std::size_t least) {
    if (args.size() < least || args.size() > least + 1) fail("a tensor of other parts", "those of torch.save()");
    of(args[0], Kind::storage, "the storage of a tensor");
    const std::int64_t first = of(args[1], Kind::integer, "the first element of a tensor").number;
    of(args[2], Kind::tuple, "the sizes of a tensor");
    of(args[3], Kind::tuple, "the strides of a tensor");
    if (args.size() > least && args[least] != kNone && !of(args[least], Kind::dict, "attributes").items.empty())
      fail("a tensor with attributes of Python, such as a conjugate", "plain tensors");
    PickleValue tensor{Kind::tensor, first, 0, {}, {args[0], args[2], args[3]}};
    if (least == 7) {
      of(args[6], Kind::global, "the dtype of a tensor");
      tensor.items.push_back(args[6]);
    }
    push(add(std::move(tensor)));
  }

  [[noreturn]] void refuse(std::uint8_t code) const {
    std::string text = "the operation " + std::to_string(code);
    for (const Name& name : kRefused)
      if (name.code == code) text = std::string("the operation ") + name.text;
    fail(text, kExpected);
  }

  /// False after the last operation.
  bool step(std::uint8_t code) {
    switch (code) {
      case 0x80:  // PROTO
        if (number(1) > 5) fail("a later protocol", "one of 2 to 5");
        break;
      case 0x95: number(8); break;                                                 // FRAME
      case '.': return false;                                                      // STOP
      case '(': marks_.push_back(stack_.size()); break;                            // MARK
      case 'N': push(kNone); break;                                                // NONE
      case 0x88: push(kTrue); break;                                               // NEWTRUE
      case 0x89: push(kFalse); break;                                              // NEWFALSE
      case 'J': push(Kind::integer, static_cast<std::int32_t>(number(4))); break;  // BININT
      case 'K': push(Kind::integer, static_cast<std::int64_t>(number(1))); break;  // BININT1
      case 'M': push(Kind::integer, static_cast<std::int64_t>(number(2))); break;  // BININT2
      case 0x8a: push_long(); break;                                               // LONG1
      case 'G': push_real(); break;                                                // BINFLOAT
      case 'X': push_string(number(4)); break;                                     // BINUNICODE
      case 0x8c: push_string(number(1)); break;                                    // SHORT_BINUNICODE
      case 0x8d: push_string(number(8)); break;                                    // BINUNICODE8
      case ']': push(Kind::list); break;                                           // EMPTY_LIST
      case '}': push(Kind::dict); break;                                           // EMPTY_DICT
      case ')': push(kEmptyTuple); break;                                          // EMPTY_TUPLE
      case 0x85: push_tuple(1); break;                                             // TUPLE1
      case 0x86: push_tuple(2); break;                                             // TUPLE2
      case 0x87: push_tuple(3); break;                                             // TUPLE3
      case 't': push_tuple(pop_to_mark()); break;                                  // TUPLE
      case 'a': append({pop()}); break;                                            // APPEND
      case 'e': append(pop_to_mark()); break;                                      // APPENDS
      case 's': {                                                                  // SETITEM
        const Id value = pop();
        set_items({pop(), value});
        break;
      }
      case 'u': set_items(pop_to_mark()); break;  // SETITEMS
      case 'q': put(number(1)); break;            // BINPUT
      case 'r': put(number(4)); break;            // LONG_BINPUT
      case 0x94: put(puts_); break;               // MEMOIZE
      case 'h': get(number(1)); break;            // BINGET
      case 'j': get(number(4)); break;            // LONG_BINGET
      case 'c': {                                 // GLOBAL
        const std::string_view module = line();
        push_global(module, line());
        break;
      }
      case 0x93: {  // STACK_GLOBAL
        const std::string name = word(pop(), "a name");
        push_global(word(pop(), "a module"), name);
        break;
      }
      case 'Q': push_storage(); break;  // BINPERSID
      case 'R': call(); break;          // REDUCE
      case 'b':                         // BUILD: attributes of the dictionary, e.g. _metadata
        pop();
        of(top(), Kind::dict, "a dictionary");
        break;
      default: refuse(code);
    }
    return true;
  }

  static constexpr Id kUnset = ~Id{0};

  std::string_view bytes_;
  std::size_t at_ = 0;
  std::uint64_t puts_ = 0;
  Pickle pickle_;
  std::vector<Id> stack_, memo_;
  std::vector<std::size_t> marks_;
};

}  // namespace

Pickle read_pickle(std::string_view bytes) { return Reader(bytes).read(); }

}  // namespace minnow::io::detail
