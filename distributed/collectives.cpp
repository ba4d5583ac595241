#include <minnow/distributed/collectives.h>

#include <algorithm>
#include <cstring>
#include <vector>
#include <minnow/distributed/detail/combine.h>
#include <minnow/distributed/detail/engine.h>
#include <minnow/distributed/detail/transfer.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/raw/copy.h>
#include <minnow/tensor/raw/transfer.h>
#include <minnow/tensor/runtime/capture_rules.h>

namespace minnow::dist {
namespace {

using detail::CaptureRules;
using Kind = Signature::Kind;

Signature signature(Kind kind, const Tensor& x) {
  Signature s;
  s.kind = kind;
  s.dtype = static_cast<std::int32_t>(x.dtype());
  s.rank = x.dim();
  for (int d = 0; d < x.dim(); ++d) s.sizes[d] = x.size(d);
  return s;
}

std::byte* bytes_of(const Tensor& host) { return static_cast<std::byte*>(host.raw_data()); }

void require_op(const In& x, ReduceOp op) {
  if (op == ReduceOp::mean && !is_floating_point(x->dtype()))
    throw DTypeError(
        message("the mean needs a floating-point dtype", {{"x", *x}}, "use the sum, or convert x: .to(float32)"));
}

void require_rank(int rank, const char* name) {
  if (rank < 0 || rank >= size())
    throw ValueError(message(std::string(name) + " is rank " + std::to_string(rank) + " of " + std::to_string(size()),
                             {}, "ranks go from 0 to " + std::to_string(size() - 1)));
}

void require_other(int other, const char* name) {
  require_rank(other, name);
  if (other == rank())
    throw ValueError(message(std::string(name) + " is this rank itself, " + std::to_string(other), {},
                             "a rank sends to others: copy the tensor instead"));
}

/// What a rank has, that is not what this one has.
std::string differing(const std::string& who, const Signature& theirs) {
  const std::string tensor = theirs.str();
  return message(who + " another tensor:" + tensor.substr(tensor.find("  ")), {},
                 "both need the same shape and dtype, and both a GPU or neither");
}

/// x's elements on the host, dense: x itself if it is so.
Tensor on_host(const Tensor& x) {
  const Tensor value = x.detach();
  const Tensor dense = detail::raw::contiguous(value);
  if (!dense.device().is_cpu()) return detail::raw::to_device(dense, Device(), false);
  dense.storage()->wait_ready();
  return dense;
}

/// Writes what is on the host to x.
void put(const Tensor& host, const Tensor& x) {
  if (host.storage() == x.storage()) x.storage()->bump_version();
  else detail::raw::copy_to(host, x.detach());
}

/// NCCL for x, if that is on a GPU where it can be used and has the dtype.
Nccl* nccl_of(Engine& engine, const Tensor& x, bool reduces) {
  if (!x.device().is_cuda() || !Nccl::has(x.dtype(), reduces)) {
    CaptureRules::forbid_access(CallSite::op(), x.device());
    return nullptr;
  }
  Nccl* const nccl = engine.nccl(x.device());
  if (nccl == nullptr) CaptureRules::forbid_access(CallSite::op(), x.device());
  return nccl;
}

/// Compares what all ranks call.
std::function<void(Communicator&)> agreeing(Signature mine) {
  mine.on_gpu = 1;
  return [mine](Communicator& c) { c.agree(mine); };
}

/// After NCCL has written `dense`, which is x itself or a copy.
std::function<void()> putting(const Tensor& dense, const Tensor& x) {
  return [dense, x] { put(dense, x); };
}

Work start_all_reduce(const In& x, ReduceOp op) {
  Engine& engine = Engine::current();
  x->require_defined();
  require_op(x, op);
  detail::raw::require_writable(x);
  Signature mine = signature(Kind::all_reduce, *x);
  mine.op = static_cast<std::int32_t>(op);
  if (Nccl* const nccl = nccl_of(engine, *x, true)) {
    const Tensor dense = detail::raw::contiguous(x->detach());
    return engine.start(*nccl, {Nccl::Call::Kind::all_reduce, dense, dense, op}, agreeing(mine), putting(dense, *x));
  }
  const Tensor host = on_host(*x);
  return engine.start(
      [host, op, mine](Communicator& c) {
        c.agree(mine);
        all_reduce_bytes(c, op, host.dtype(), bytes_of(host), host.numel());
      },
      [host, x = *x] { put(host, x); });
}

Work start_broadcast(const In& x, int root) {
  Engine& engine = Engine::current();
  x->require_defined();
  require_rank(root, "root");
  detail::raw::require_writable(x);
  Signature mine = signature(Kind::broadcast, *x);
  mine.root = root;
  if (Nccl* const nccl = nccl_of(engine, *x, false)) {
    const Tensor dense = detail::raw::contiguous(x->detach());
    return engine.start(*nccl, {Nccl::Call::Kind::broadcast, dense, dense, ReduceOp::sum, root}, agreeing(mine),
                        root == rank() ? std::function<void()>() : putting(dense, *x));
  }
  const Tensor host = on_host(*x);
  return engine.start(
      [host, root, mine](Communicator& c) {
        c.agree(mine);
        c.broadcast(bytes_of(host), static_cast<std::size_t>(host.nbytes()), root);
      },
      [host, x = *x, root] {
        if (root != rank()) put(host, x);
      });
}

Work start_all_gather(const In& x, const Tensor& out) {
  const Signature mine = signature(Kind::all_gather, *x);
  Engine& engine = Engine::current();
  if (Nccl* const nccl = out.device() == x->device() ? nccl_of(engine, *x, false) : nullptr)
    return engine.start(*nccl, {Nccl::Call::Kind::all_gather, detail::raw::contiguous(x->detach()), out.detach()},
                        agreeing(mine), putting(out, out));
  const Tensor host = on_host(*x), all = out.device().is_cpu() ? out : empty(out.shape(), {out.dtype(), Device()});
  return engine.start(
      [host, all, mine](Communicator& c) {
        c.agree(mine);
        all_gather_bytes(c, bytes_of(host), bytes_of(all), static_cast<std::size_t>(host.nbytes()));
      },
      [all, out] { put(all, out); });
}

Shape stacked(const Tensor& x) {
  Shape shape{size()};
  for (int d = 0; d < x.dim(); ++d) shape.push_back(x.size(d));
  return shape;
}

}  // namespace

void all_reduce(const In& x, ReduceOp op) {
  const CallSite site("all_reduce", x.where);
  start_all_reduce(x, op).wait();
}

Work all_reduce_async(const In& x, ReduceOp op) {
  const CallSite site("all_reduce_async", x.where);
  return start_all_reduce(x, op);
}

void broadcast(const In& x, int root) {
  const CallSite site("broadcast", x.where);
  start_broadcast(x, root).wait();
}

Work broadcast_async(const In& x, int root) {
  const CallSite site("broadcast_async", x.where);
  return start_broadcast(x, root);
}

Tensor all_gather(const In& x) {
  const CallSite site("all_gather", x.where);
  Engine::current();
  x->require_defined();
  if (x->dim() == kMaxRank)
    throw ShapeError(message("the result would have too many dimensions", {{"x", *x}}, "flatten x"));
  const Tensor out = empty(stacked(*x), {x->dtype(), x->device()});
  start_all_gather(x, out).wait();
  return out;
}

Work all_gather_async(const In& x, const In& out) {
  const CallSite site("all_gather_async", x.where);
  Engine::current();
  x->require_defined();
  out->require_defined();
  if (x->dim() == kMaxRank || out->shape() != stacked(*x) || !out->is_contiguous())
    throw ShapeError(message("out does not fit", {{"x", *x}, {"out", *out}},
                             "out needs the shape [size, ...] of x, and to be contiguous"));
  if (out->dtype() != x->dtype())
    throw DTypeError(message("out and x have different dtypes", {{"x", *x}, {"out", *out}}, "give out the dtype of x"));
  return start_all_gather(x, *out);
}

Tensor reduce_scatter(const In& x, ReduceOp op) {
  const CallSite site("reduce_scatter", x.where);
  Engine& engine = Engine::current();
  x->require_defined();
  require_op(x, op);
  if (x->dim() == 0 || x->size(0) != size())
    throw ShapeError(message("x does not have a row for each rank", {{"x", *x}},
                             "x needs the shape [" + std::to_string(size()) + ", ...]"));
  Signature mine = signature(Kind::reduce_scatter, *x);
  mine.op = static_cast<std::int32_t>(op);
  if (Nccl* const nccl = nccl_of(engine, *x, true)) {
    const Tensor out = empty(x->detach()[0].shape(), {x->dtype(), x->device()});
    engine
        .start(*nccl, {Nccl::Call::Kind::reduce_scatter, detail::raw::contiguous(x->detach()), out, op}, agreeing(mine))
        .wait();
    return out;
  }
  const Tensor host = on_host(*x);
  const Tensor row = empty(x->detach()[0].shape(), {x->dtype(), Device()});
  engine
      .start([host, row, op, mine](Communicator& c) {
        c.agree(mine);
        reduce_scatter_bytes(c, op, host.dtype(), bytes_of(host), row.numel(), bytes_of(row));
      })
      .wait();
  return row.to(x->device());
}

void barrier(SourceLocation where) {
  const CallSite site("barrier", where);
  Engine::current().start([](Communicator& c) { c.agree({}); }).wait();
}

void send(const In& x, int to) {
  const CallSite site("send", x.where);
  Engine& engine = Engine::current();
  x->require_defined();
  require_other(to, "to");
  Signature mine = signature(Kind::broadcast, *x);
  mine.sends = 1;
  if (Nccl* const nccl = engine.started_nccl(x->device())) {
    mine.on_gpu = 1;
    const Tensor dense = detail::raw::contiguous(x->detach());
    const auto agree = [mine, to](Communicator& c) {
      c.send(reinterpret_cast<const std::byte*>(&mine), sizeof mine, to);
      Signature theirs;
      c.receive(reinterpret_cast<std::byte*>(&theirs), sizeof theirs, to);
      if (theirs.sends != 0)
        throw ValueError(message("rank " + std::to_string(to) + " sends to this rank as well, and neither receives", {},
                                 "let one of them call recv first"));
      if (!(theirs == mine)) throw ValueError(differing("rank " + std::to_string(to) + " receives", theirs));
    };
    engine.start(*nccl, {Nccl::Call::Kind::send, dense, dense, ReduceOp::sum, to}, agree).wait();
    return;
  }
  CaptureRules::forbid_access(CallSite::op(), x->device());
  const Tensor host = on_host(*x);
  engine
      .start([host, to, mine](Communicator& c) {
        c.send(reinterpret_cast<const std::byte*>(&mine), sizeof mine, to);
        c.send(bytes_of(host), static_cast<std::size_t>(host.nbytes()), to);
      })
      .wait();
}

void recv(const In& x, int from) {
  const CallSite site("recv", x.where);
  Engine& engine = Engine::current();
  x->require_defined();
  require_other(from, "from");
  detail::raw::require_writable(x);
  Signature mine = signature(Kind::broadcast, *x);
  Nccl* const nccl = engine.started_nccl(x->device());
  if (nccl == nullptr) CaptureRules::forbid_access(CallSite::op(), x->device());
  mine.on_gpu = nccl != nullptr ? 1 : 0;
  const Tensor host = nccl != nullptr ? Tensor() : on_host(*x);
  const auto agree = [mine, from, host](Communicator& c) {
    Signature theirs;
    c.receive(reinterpret_cast<std::byte*>(&theirs), sizeof theirs, from);
    const bool same = theirs == mine;
    if (theirs.on_gpu != 0) {  // it waits for what this rank has
      c.send(reinterpret_cast<const std::byte*>(&mine), sizeof mine, from);
    } else {
      std::int64_t numel = 1;
      for (int d = 0; d < theirs.rank; ++d) numel *= theirs.sizes[d];
      const std::size_t bytes = static_cast<std::size_t>(numel) * size_of(static_cast<DType>(theirs.dtype));
      std::vector<std::byte> other(same ? 0 : bytes);  // what does not fit is received, and dropped
      c.receive(same ? bytes_of(host) : other.data(), bytes, from);
    }
    if (!same) throw ValueError(differing("rank " + std::to_string(from) + " has sent", theirs));
  };
  if (nccl != nullptr) {
    const Tensor dense = detail::raw::contiguous(x->detach());
    engine.start(*nccl, {Nccl::Call::Kind::recv, dense, dense, ReduceOp::sum, from}, agree, putting(dense, *x)).wait();
    return;
  }
  engine.start(agree).wait();
  put(host, *x);
}

}  // namespace minnow::dist
