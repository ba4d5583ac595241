#include <algorithm>
#include <minnow/tensor/cuda/cuda_backend.h>
#include <minnow/tensor/cuda/elementwise.h>
#include <minnow/tensor/kernels/update.h>

namespace minnow::cuda {
namespace {

using kernels::Sgd;

constexpr int kStates = 3;
constexpr int kRoles = 2 + kStates;  // parameter, gradient, states
constexpr int kItems = 48;           // of a launch: their table must fit the 4 KB of a kernel's arguments
constexpr std::int64_t kChunk = std::int64_t{kThreads} * kPack * 4;  // elements that a block takes

/// The memory of one item, nullptr for states that the rule runs without.
struct Memory {
  void* data[kRoles];
  DType dtype[kRoles];
  bool packed;  ///< all of it is aligned for packs
};

/// The hyper-parameters in T: made on the host, or on the device from the doubles at `replayed`.
template <class Rule, class T> struct Settings {
  typename Rule::template Constants<T> constants;
  const double* replayed;
};

/// Items whose tensors all lie dense in the parameter's order.  Blocks are numbered through all items: item k has those
/// from first[k] on.
template <class Rule, class T> struct DenseTable {
  Settings<Rule, T> settings;
  int items;
  std::uint32_t blocks;
  std::uint32_t first[kItems];
  std::int64_t numel[kItems];
  Memory memory[kItems];
};
template <class Rule, class T> struct StridedItem {
  Settings<Rule, T> settings;
  Memory memory;
  kernels::Narrow<kRoles> layout;
};

/// For all threads of a block.
template <class Rule, class T>
__device__ __forceinline__ typename Rule::template Constants<T> constants_of(const Settings<Rule, T>& settings) {
  if (settings.replayed == nullptr) return settings.constants;
  __shared__ typename Rule::template Constants<T> shared;
  if (threadIdx.x == 0) {
    typename Rule::Hyper hyper;
    double* fields = reinterpret_cast<double*>(&hyper);
    for (unsigned k = 0; k < sizeof(hyper) / sizeof(double); ++k) fields[k] = settings.replayed[k];
    shared = Rule::template constants<T>(hyper);
  }
  __syncthreads();
  return shared;
}

/// One element: v[0] the parameter, v[1] the gradient, then the states.
template <class Rule, class T>
__device__ __forceinline__ void step(const typename Rule::template Constants<T>& c, const Memory& m, T (&v)[kRoles]) {
  if constexpr (std::is_same_v<Rule, Sgd>) {
    if (m.data[2] != nullptr) Rule::step(c, v[0], v[1], v[2]);
    else Rule::step(c, v[0], v[1]);
  } else {
    if (m.data[4] != nullptr) Rule::amsgrad_step(c, v[0], v[1], v[2], v[3], v[4]);
    else Rule::step(c, v[0], v[1], v[2], v[3]);
  }
}

/// kPack elements in place: `load` and `store` take (role, values).
template <class Rule, class T, int Count, class Load, class Store>
__device__ __forceinline__ void step_all(const typename Rule::template Constants<T>& c, const Memory& m,
                                         const Load& load, const Store& store) {
  T v[kRoles][Count] = {};
  for (int role = 0; role < kRoles; ++role)
    if (m.data[role] != nullptr) load(role, v[role]);
  for (int u = 0; u < Count; ++u) {
    T one[kRoles];
    for (int role = 0; role < kRoles; ++role) one[role] = v[role][u];
    step<Rule, T>(c, m, one);
    for (int role = 0; role < kRoles; ++role) v[role][u] = one[role];
  }
  for (int role = 0; role < kRoles; ++role)
    if (role != 1 && m.data[role] != nullptr) store(role, v[role]);
}

template <class Rule, class T> __global__ void dense_update_kernel(DenseTable<Rule, T> table) {
  const auto c = constants_of<Rule, T>(table.settings);
  int item = 0, end = table.items;
  while (end - item > 1) {
    const int middle = (item + end) / 2;
    if (table.first[middle] <= blockIdx.x) item = middle;
    else end = middle;
  }
  const Memory& m = table.memory[item];
  const std::int64_t begin = static_cast<std::int64_t>(blockIdx.x - table.first[item]) * kChunk;
  const std::int64_t left = table.numel[item] - begin;
  const std::int64_t n = left < kChunk ? left : kChunk;
  const std::int64_t packed = m.packed ? n / kPack * kPack : 0;
  for (std::int64_t i = threadIdx.x * kPack; i < packed; i += blockDim.x * kPack) {
    step_all<Rule, T, kPack>(
        c, m, [&](int role, T(&v)[kPack]) { load_pack<Stored::kNear>(m.data[role], m.dtype[role], begin + i, v); },
        [&](int role, const T(&v)[kPack]) { store_pack<Stored::kNear>(m.data[role], m.dtype[role], begin + i, v); });
  }
  for (std::int64_t i = packed + threadIdx.x; i < n; i += blockDim.x) {
    step_all<Rule, T, 1>(
        c, m, [&](int role, T(&v)[1]) { v[0] = load_one<Stored::kNear, T>(m.data[role], m.dtype[role], begin + i); },
        [&](int role, const T(&v)[1]) { store_one<Stored::kNear>(m.data[role], m.dtype[role], begin + i, v[0]); });
  }
}

template <class Rule, class T> __global__ void strided_update_kernel(StridedItem<Rule, T> item) {
  const auto c = constants_of<Rule, T>(item.settings);
  const Memory& m = item.memory;
  const std::uint32_t step_size = gridDim.x * blockDim.x;
  for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < item.layout.numel; i += step_size) {
    const kernels::Offsets<kRoles> at = item.layout.offsets(i);
    step_all<Rule, T, 1>(
        c, m, [&](int role, T(&v)[1]) { load_at<Stored::kAll>(m.data[role], m.dtype[role], {at.at[role]}, 1, v); },
        [&](int role, const T(&v)[1]) { store_at<Stored::kAll>(m.data[role], m.dtype[role], {at.at[role]}, 1, v); });
  }
}

/// The tensors of an item by role.
struct Roles {
  const View* tensor[kRoles];

  explicit Roles(const UpdateItem& item) : tensor{item.param, item.grad} {
    for (int k = 0; k < kStates; ++k)
      tensor[2 + k] = item.state[k] != nullptr && item.state[k]->defined() ? item.state[k] : nullptr;
  }
  const View& param() const { return *tensor[0]; }

  Memory memory() const {
    Memory m{};
    m.packed = true;
    for (int role = 0; role < kRoles; ++role) {
      if (tensor[role] == nullptr) continue;
      m.data[role] = tensor[role]->raw_data();
      m.dtype[role] = tensor[role]->dtype();
      m.packed = m.packed && reinterpret_cast<std::uintptr_t>(m.data[role]) % kPackAlignment == 0;
    }
    return m;
  }
  /// Whether element i of all tensors is at place i of their memory, in dtypes that are computed in alike.
  bool is_dense() const {
    for (const View* t : tensor) {
      if (t == nullptr) continue;
      if (!covers(Stored::kNear, compute_of(param().dtype()), t->dtype())) return false;
      if (!same_dense_layout(param().shape(), t->strides(), param().strides())) return false;
    }
    return true;
  }
  kernels::Layout<kRoles> layout() const {
    const auto walk = [&](int role) {
      const View& t = tensor[role] != nullptr ? *tensor[role] : param();
      return kernels::Walk{t.strides(), static_cast<std::int64_t>(t.itemsize())};
    };
    return kernels::collapse<kRoles>(param().shape(), {walk(0), walk(1), walk(2), walk(3), walk(4)});
  }
};

template <class Rule, class T> Settings<Rule, T> settings_of(const UpdateParams& params) {
  const auto& hyper = *reinterpret_cast<const typename Rule::Hyper*>(params.hyper.data());
  return {Rule::template constants<T>(hyper), params.replayed};
}

template <class Rule, class T>
void run_strided(const Call& call, const Roles& roles, const Settings<Rule, T>& settings) {
  const Memory memory = roles.memory();
  kernels::for_narrow_parts(roles.layout(),
                            [&](const kernels::Narrow<kRoles>& part, const kernels::Base<kRoles>& base) {
                              StridedItem<Rule, T> item{settings, memory, part};
                              for (int role = 0; role < kRoles; ++role)
                                if (memory.data[role] != nullptr)
                                  item.memory.data[role] = static_cast<char*>(memory.data[role]) + base.at[role];
                              launch(call, strided_update_kernel<Rule, T>, blocks_for(part.numel), kThreads, item);
                            });
}

/// All items whose parameter is computed in T: the dense ones in as few launches as their table allows.
template <class Rule, class T>
void run(const Call& call, const UpdateParams& params, std::span<const UpdateItem> items) {
  constexpr Compute kCompute = std::is_same_v<T, double> ? Compute::kDouble : Compute::kFloat;
  DenseTable<Rule, T> table{settings_of<Rule, T>(params), 0, 0, {}, {}, {}};
  static_assert(sizeof(table) <= 4096);
  const auto flush = [&] {
    if (table.items > 0) launch(call, dense_update_kernel<Rule, T>, table.blocks, kThreads, table);
    table.items = 0;
    table.blocks = 0;
  };
  for (const UpdateItem& item : items) {
    const std::int64_t n = item.param->numel();
    if (n == 0 || compute_of(item.param->dtype()) != kCompute) continue;
    const Roles roles(item);
    if (!roles.is_dense()) {
      run_strided(call, roles, table.settings);
      continue;
    }
    const std::int64_t blocks = (n + kChunk - 1) / kChunk;
    if (table.items == kItems || table.blocks + blocks > (std::int64_t{1} << 31) - 1) flush();
    const int at = table.items++;
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
  kernels::visit(kernels::UpdateRules{}, params.rule, [&]<class Rule>() {
    run<Rule, float>(call, params, items);
    run<Rule, double>(call, params, items);
  });
}

}  // namespace minnow::cuda
