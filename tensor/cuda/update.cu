#include <algorithm>
#include <minnow/tensor/cuda/cuda_backend.h>
#include <minnow/tensor/cuda/elementwise/elementwise.h>
#include <minnow/tensor/kernels/update.h>

namespace minnow::cuda {
namespace {

constexpr std::int64_t kChunk = std::int64_t{kThreads} * kPack * 4;  // elements of a block

/// The number of tensors of an item: parameter, gradient, states.
template <class Rule> inline constexpr int kRoles = 2 + kernels::kNumStates<Rule>;

/// The memory of one item, nullptr for states that it does not have.
template <class Rule> struct ItemMemory {
  void* data[kRoles<Rule>];
  DType dtype[kRoles<Rule>];
  std::uint8_t states;  ///< a set of bits, bit k for state k
  bool packed;          ///< all of it is aligned to packs
};

/// The constants in T, from the host, or from the doubles at `replayed` in device memory.
template <class Rule, class T> struct RuleConstants {
  typename Rule::template Constants<T> constants;
  const double* replayed;
  const float* found_inf;  ///< nullptr, or not 0: nothing is changed

  __device__ __forceinline__ bool is_skipped() const { return found_inf != nullptr && *found_inf != 0; }
};

/// Items whose tensors are all dense in the parameter's order.  Blocks are numbered over all items; item k has those
/// from first[k] on.
template <class Rule, class T> struct DenseTable {
  /// As many as fit into the 4 KB of a kernel's arguments.
  static constexpr std::size_t kItems = (4096 - sizeof(RuleConstants<Rule, T>) - 16) /
                                        (sizeof(ItemMemory<Rule>) + sizeof(std::int64_t) + sizeof(std::uint32_t));
  RuleConstants<Rule, T> settings;
  std::uint32_t items;
  std::uint32_t blocks;
  std::uint32_t first[kItems];
  std::int64_t numel[kItems];
  ItemMemory<Rule> memory[kItems];
};
template <class Rule, class T> struct StridedItem {
  RuleConstants<Rule, T> settings;
  ItemMemory<Rule> memory;
  kernels::Narrow<kRoles<Rule>> layout;
};

/// The constants, for all threads of a block.
template <class Rule, class T>
__device__ __forceinline__ typename Rule::template Constants<T> constants_of(const RuleConstants<Rule, T>& settings) {
  if (settings.replayed == nullptr) return settings.constants;
  __shared__ typename Rule::template Constants<T> shared;
  if (threadIdx.x == 0) shared = kernels::constants_in<Rule, T>(settings.replayed);
  __syncthreads();
  return shared;
}

template <class T> __device__ __forceinline__ T& element(T& state, T*) { return state; }
template <class T> __device__ __forceinline__ kernels::Absent element(T&, kernels::Absent*) { return {}; }

/// Updates elements with the states of a set.  v[0] is the parameter, v[1] the gradient, then the states.
template <class Rule, class T, unsigned States, int Count, int... K>
__device__ __forceinline__ void step_with(const typename Rule::template Constants<T>& c, T (&v)[kRoles<Rule>][Count],
                                          std::integer_sequence<int, K...>) {
  if constexpr (kernels::allows<Rule>(States))
    for (int u = 0; u < Count; ++u)
      Rule::step(c, v[0][u], v[1][u],
                 element(v[2 + K][u], static_cast<kernels::StateElement<T, States, K>*>(nullptr))...);
}
template <class Rule, class T, int Count, unsigned... States>
__device__ __forceinline__ void step_any(const typename Rule::template Constants<T>& c, unsigned states,
                                         T (&v)[kRoles<Rule>][Count], std::integer_sequence<unsigned, States...>) {
  constexpr std::make_integer_sequence<int, kernels::kNumStates<Rule>> kAll{};
  ((states == States ? step_with<Rule, T, States>(c, v, kAll) : void()), ...);
}

/// Updates Count elements; `load` and `store` take (role, values).
template <class Rule, class T, int Count, class Load, class Store>
__device__ __forceinline__ void step_all(const typename Rule::template Constants<T>& c, const ItemMemory<Rule>& m,
                                         const Load& load, const Store& store) {
  T v[kRoles<Rule>][Count] = {};
  for (int role = 0; role < kRoles<Rule>; ++role)
    if (m.data[role] != nullptr) load(role, v[role]);
  step_any<Rule, T>(c, m.states, v, kernels::StateSets<Rule>{});
  for (int role = 0; role < kRoles<Rule>; ++role)
    if (role != 1 && m.data[role] != nullptr) store(role, v[role]);
}

template <class Rule, class T> __global__ void dense_update_kernel(DenseTable<Rule, T> table) {
  if (table.settings.is_skipped()) return;
  const auto c = constants_of<Rule, T>(table.settings);
  std::uint32_t item = 0, end = table.items;
  while (end - item > 1) {
    const std::uint32_t middle = (item + end) / 2;
    if (table.first[middle] <= blockIdx.x) item = middle;
    else end = middle;
  }
  const ItemMemory<Rule>& m = table.memory[item];
  const std::int64_t begin = static_cast<std::int64_t>(blockIdx.x - table.first[item]) * kChunk;
  const std::int64_t left = table.numel[item] - begin;
  const std::int64_t n = left < kChunk ? left : kChunk;
  const std::int64_t packed = m.packed ? n / kPack * kPack : 0;
  for (std::int64_t i = threadIdx.x * kPack; i < packed; i += blockDim.x * kPack) {
    step_all<Rule, T, kPack>(
        c, m,
        [&](int role, T(&v)[kPack]) { load_pack<Accepts::kSameFamily>(m.data[role], m.dtype[role], begin + i, v); },
        [&](int role, const T(&v)[kPack]) {
          store_pack<Accepts::kSameFamily>(m.data[role], m.dtype[role], begin + i, v);
        });
  }
  for (std::int64_t i = packed + threadIdx.x; i < n; i += blockDim.x) {
    step_all<Rule, T, 1>(
        c, m,
        [&](int role, T(&v)[1]) { v[0] = load_one<Accepts::kSameFamily, T>(m.data[role], m.dtype[role], begin + i); },
        [&](int role, const T(&v)[1]) {
          store_one<Accepts::kSameFamily>(m.data[role], m.dtype[role], begin + i, v[0]);
        });
  }
}

template <class Rule, class T> __global__ void strided_update_kernel(StridedItem<Rule, T> item) {
  if (item.settings.is_skipped()) return;
  const auto c = constants_of<Rule, T>(item.settings);
  const ItemMemory<Rule>& m = item.memory;
  const std::uint32_t step_size = gridDim.x * blockDim.x;
  for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < item.layout.numel; i += step_size) {
    const kernels::Offsets<kRoles<Rule>> at = item.layout.offsets(i);
    step_all<Rule, T, 1>(
        c, m, [&](int role, T(&v)[1]) { load_at<Accepts::kAll>(m.data[role], m.dtype[role], {at.at[role]}, 1, v); },
        [&](int role, const T(&v)[1]) { store_at<Accepts::kAll>(m.data[role], m.dtype[role], {at.at[role]}, 1, v); });
  }
}

/// The tensors of an item by role.
template <class Rule> struct Roles {
  const View* tensor[kRoles<Rule>];

  explicit Roles(const UpdateItem& item) : tensor{item.param, item.grad} {
    static_assert(kernels::kNumStates<Rule> <= UpdateItem::kMaxStates);
    for (int k = 0; k < kernels::kNumStates<Rule>; ++k)
      tensor[2 + k] = item.state[k] != nullptr && item.state[k]->defined() ? item.state[k] : nullptr;
  }
  const View& param() const { return *tensor[0]; }

  ItemMemory<Rule> memory() const {
    ItemMemory<Rule> m{};
    m.packed = true;
    for (int role = 0; role < kRoles<Rule>; ++role) {
      if (tensor[role] == nullptr) continue;
      m.data[role] = tensor[role]->raw_data();
      m.dtype[role] = tensor[role]->dtype();
      m.packed = m.packed && reinterpret_cast<std::uintptr_t>(m.data[role]) % kPackAlignment == 0;
      if (role >= 2) m.states = static_cast<std::uint8_t>(m.states | 1U << (role - 2));
    }
    return m;
  }
  /// Whether element i of all tensors is at index i in memory, in dtypes with the same compute type.
  bool is_dense() const {
    for (const View* t : tensor) {
      if (t == nullptr) continue;
      if (!accepts(Accepts::kSameFamily, compute_of(param().dtype()), t->dtype())) return false;
      if (!same_dense_layout(param().shape(), t->strides(), param().strides())) return false;
    }
    return true;
  }
  kernels::Layout<kRoles<Rule>> layout() const { return layout_of(std::make_integer_sequence<int, kRoles<Rule>>{}); }

 private:
  template <int... Role> kernels::Layout<kRoles<Rule>> layout_of(std::integer_sequence<int, Role...>) const {
    const auto walk = [&](const View& t) {
      return kernels::Walk{t.strides(), static_cast<std::int64_t>(t.itemsize())};
    };
    return kernels::collapse<kRoles<Rule>>(param().shape(), {walk(tensor[Role] ? *tensor[Role] : param())...});
  }
};

template <class Rule, class T>
void run_strided(const Call& call, const Roles<Rule>& roles, const RuleConstants<Rule, T>& settings) {
  const ItemMemory<Rule> memory = roles.memory();
  kernels::for_narrow_parts(roles.layout(),
                            [&](const kernels::Narrow<kRoles<Rule>>& part, const kernels::Base<kRoles<Rule>>& base) {
                              StridedItem<Rule, T> item{settings, memory, part};
                              for (int role = 0; role < kRoles<Rule>; ++role)
                                if (memory.data[role] != nullptr)
                                  item.memory.data[role] = static_cast<char*>(memory.data[role]) + base.at[role];
                              launch(call, strided_update_kernel<Rule, T>, blocks_for(part.numel), kThreads, item);
                            });
}

/// Updates all items whose parameter is computed in T, the dense ones in as few launches as their table allows.
template <class Rule, class T>
void run(const Call& call, const UpdateParams& params, std::span<const UpdateItem> items, const float* found_inf) {
  constexpr Compute kCompute = std::is_same_v<T, double> ? Compute::kDouble : Compute::kFloat;
  using Table = DenseTable<Rule, T>;
  Table table{{kernels::constants_in<Rule, T>(params.constants.data()), params.replayed, found_inf}, 0, 0, {}, {}, {}};
  static_assert(sizeof(table) <= 4096);
  const auto flush = [&] {
    if (table.items > 0) launch(call, dense_update_kernel<Rule, T>, table.blocks, kThreads, table);
    table.items = 0;
    table.blocks = 0;
  };
  for (const UpdateItem& item : items) {
    const std::int64_t n = item.param->numel();
    if (n == 0 || compute_of(item.param->dtype()) != kCompute) continue;
    const Roles<Rule> roles(item);
    if (!roles.is_dense()) {
      run_strided(call, roles, table.settings);
      continue;
    }
    const std::int64_t blocks = (n + kChunk - 1) / kChunk;
    if (table.items == Table::kItems || table.blocks + blocks > (std::int64_t{1} << 31) - 1) flush();
    const std::uint32_t at = table.items++;
    table.first[at] = table.blocks;
    table.numel[at] = n;
    table.memory[at] = roles.memory();
    table.blocks += static_cast<std::uint32_t>(blocks);
  }
  flush();
}

}  // namespace

template <> void execute(const calls::Update& args) {
  const UpdateParams& params = args.params;
  const std::span<const UpdateItem> items = args.items;
  if (items.empty()) return;
  const Call call(args);
  const auto* found_inf = args.found_inf.defined() ? static_cast<const float*>(args.found_inf.raw_data()) : nullptr;
  kernels::visit(kernels::UpdateRules{}, params.rule, [&]<class Rule>() {
    run<Rule, float>(call, params, items, found_inf);
    run<Rule, double>(call, params, items, found_inf);
  });
}

}  // namespace minnow::cuda
