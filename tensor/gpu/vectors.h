// Passes over activations in vectors of 16 bytes: as fast as device memory.
//
//   ForEachVector   body.Store(at, body.Load(at), body.Keep(at)) for every vector of a grid
//
// A grid is rows x groups x columns of elements: pixels x 1 x channels of images in NHWC, images x
// channels x pixels in NCHW. A thread stays in its channels, whose numbers are read once (Keep),
// and strides over rows without a division. It loads several vectors before it uses the first.
//
// A body is a small trivially copyable struct, as those of launch.h are:
//
//   static constexpr int kLanes, kAhead            elements of a vector; vectors loaded ahead
//   void Declare(const VectorGrid&, Accesses&)
//   Kept Keep(VectorCell) const                    may differ between columns and groups alone
//   Loaded Load(VectorCell) const
//   void Store(VectorCell, const Loaded&, const Kept&) const
//
// A vector has 16 bytes where all views of a pass are aligned and columns are a multiple of it,
// else one element.

#ifndef DTNN_TENSOR_GPU_VECTORS_H_
#define DTNN_TENSOR_GPU_VECTORS_H_

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "absl/status/status.h"
#include "tensor/gpu/launch.h"

// Before a loop over registers, in code of the device.
#ifdef __CUDA_ARCH__
#define DTNN_GPU_UNROLL _Pragma("unroll")
#else
#define DTNN_GPU_UNROLL
#endif

namespace dtnn::gpu {
inline namespace DTNN_GPU_COMPILER {

inline constexpr size_t kVectorBytes = 16;
// Elements of one type in a vector of 16 bytes.
template <typename T>
inline constexpr int kFullVector = int(kVectorBytes / sizeof(T));

// Elements of 16 bits stay in pairs, as they are loaded, until they are used: a register each would
// leave room for half as many threads.
template <typename T, int kLanes>
class alignas(kLanes * sizeof(T) < kVectorBytes ? kLanes * sizeof(T) : kVectorBytes) Vector {
 public:
  DTNN_HOST_DEVICE T operator[](int i) const {
    if constexpr (kPairs) {
      T element;
      element.bits = uint16_t(kept_[i / 2] >> (i % 2 * 16));
      return element;
    } else {
      return kept_[i];
    }
  }
  DTNN_HOST_DEVICE void Set(int i, T element) {
    if constexpr (kPairs) {
      const uint32_t shift = uint32_t(i) % 2 * 16;
      kept_[i / 2] = (kept_[i / 2] & ~(uint32_t{0xffff} << shift)) | uint32_t{element.bits}
                                                                         << shift;
    } else {
      kept_[i] = element;
    }
  }

 private:
  static constexpr bool kPairs = sizeof(T) == 2 && kLanes % 2 == 0;
  std::conditional_t<kPairs, uint32_t, T> kept_[kPairs ? kLanes / 2 : kLanes] = {};
};

namespace vectors_internal {

// What a GPU moves at once.
template <size_t kBytes>
struct Words;
#ifdef __CUDACC__
template <>
struct Words<16> {
  using Type = uint4;
};
template <>
struct Words<8> {
  using Type = uint2;
};
template <>
struct Words<4> {
  using Type = uint32_t;
};
template <>
struct Words<2> {
  using Type = uint16_t;
};
#endif

// Bytes are moved one by one only where they are elements: of a number of 16 bits that was just
// rounded, ptxas stores another lower byte (13.0 converts the number to an integer of 8 bits).
template <size_t kSize>
DTNN_HOST_DEVICE inline void Move(void* to, const void* from) {
#ifdef __CUDA_ARCH__
  if constexpr (kSize % 2 == 0) {
    using Word = typename Words<kSize % 16 == 0  ? 16
                                : kSize % 8 == 0 ? 8
                                : kSize % 4 == 0 ? 4
                                                 : 2>::Type;
    for (size_t i = 0; i < kSize / sizeof(Word); ++i) {
      static_cast<Word*>(to)[i] = static_cast<const Word*>(from)[i];
    }
    return;
  }
#endif
  std::memcpy(to, from, kSize);
}

}  // namespace vectors_internal

// In accesses of up to 16 bytes. `from` and `to` are multiples of that, or of the vector's size
// where it is smaller.
template <int kLanes, typename T>
DTNN_HOST_DEVICE inline Vector<T, kLanes> LoadVector(const T* from) {
  Vector<T, kLanes> vector;
  vectors_internal::Move<sizeof(vector)>(&vector, from);
  return vector;
}
template <typename T, int kLanes>
DTNN_HOST_DEVICE inline void StoreVector(T* to, const Vector<T, kLanes>& vector) {
#ifdef __CUDA_ARCH__
  // Said by name: a copy of values that were just computed becomes four stores of 4 bytes each.
  if constexpr (sizeof(vector) % sizeof(uint4) == 0) {
    for (size_t i = 0; i < sizeof(vector) / sizeof(uint4); ++i) {
      uint4 word;
      std::memcpy(&word, reinterpret_cast<const std::byte*>(&vector) + i * sizeof(word),
                  sizeof(word));
      __stwb(reinterpret_cast<uint4*>(to) + i, word);
    }
    return;
  }
#endif
  vectors_internal::Move<sizeof(vector)>(to, &vector);
}

// A place in a grid; columns count vectors.
struct VectorCell {
  uint32_t row, group, column;
};

// Elements, before they are divided into vectors.
struct VectorExtents {
  enum class Order : uint8_t {
    kRows,    // a thread stays in its columns: those of NHWC are channels
    kPlanes,  // a thread stays in its group, a channel of NCHW, and goes over rows and columns
    kFlat,    // one row; its elements are all alike
  };

  Order order = Order::kFlat;
  int64_t rows = 1, groups = 1, columns = 0;

  static VectorExtents Rows(int64_t rows, int64_t columns) {
    return {Order::kRows, rows, 1, columns};
  }
  static VectorExtents Planes(int64_t rows, int64_t groups, int64_t columns) {
    return {Order::kPlanes, rows, groups, columns};
  }
  static VectorExtents Flat(int64_t columns) { return {Order::kFlat, 1, 1, columns}; }

  int64_t size() const { return rows * groups * columns; }
};

// How threads go over a grid: blocks of `lanes` neighbouring vectors times `deep` rows; the grid of
// blocks has parts of the rows along x, and along y groups, or chunks of columns.
struct VectorGrid {
  using Order = VectorExtents::Order;

  Order order;
  uint32_t rows, groups, columns;
  uint32_t last;    // columns of the last row
  uint32_t lanes;   // a warp or less: rows shorter than that share one
  uint32_t chunks;  // of `lanes` columns, in a row
  uint32_t deep;    // rows of a block

  static constexpr uint32_t kThreads = kThreadsPerBlock;  // of a block, at most

  // For extents that fit.
  static VectorGrid Of(const VectorExtents& extents, int vector) {
    VectorGrid grid;
    grid.order = extents.order;
    grid.groups = uint32_t(extents.groups);
    int64_t rows = extents.rows, columns = extents.columns / vector, last = columns;
    if (extents.order == Order::kFlat) {
      rows = (columns + kWarpSize - 1) / kWarpSize;
      last = columns - (rows - 1) * kWarpSize;
      columns = std::min<int64_t>(columns, kWarpSize);
    }
    grid.rows = uint32_t(rows);
    grid.columns = uint32_t(columns);
    grid.last = uint32_t(last);
    grid.chunks = uint32_t((columns + kWarpSize - 1) / kWarpSize);
    grid.lanes = grid.chunks == 0 ? 1 : (grid.columns + grid.chunks - 1) / grid.chunks;
    grid.deep = std::clamp(grid.items(), 1u, kThreads / grid.lanes);
    return grid;
  }
  // The most rows of these columns that Check allows, at least 1.
  static int64_t MostRows(const VectorExtents& extents) {
    return std::max<int64_t>(1, kMost / ChunksOf(extents) - 1);
  }
  // Whether 32 bits count everything.
  static absl::Status Check(const VectorExtents& extents) {
    const bool flat = extents.order == Order::kFlat;
    if (flat ? ChunksOf(extents) < kMost
             : extents.rows < kMost / ChunksOf(extents) && extents.groups < kMost) {
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError("a pass over more than 2^31 rows");
  }

  // Threads of a block: whole warps.
  DTNN_HOST_DEVICE uint32_t threads() const {
    return (deep * lanes + kWarpSize - 1) / kWarpSize * kWarpSize;
  }
  DTNN_HOST_DEVICE bool planes() const { return order == Order::kPlanes; }
  DTNN_HOST_DEVICE uint32_t items() const { return planes() ? rows * chunks : rows; }
  DTNN_HOST_DEVICE uint32_t size_y() const { return planes() ? groups : chunks; }
  // Blocks along x, so that a thread has at least `least` vectors and there are at most `most`
  // blocks.
  uint32_t Parts(uint32_t least, uint32_t most) const {
    const uint32_t wanted = (items() + deep * least - 1) / (deep * least);
    return std::max(1u, std::min(wanted, most / std::max(1u, size_y())));
  }
  // The grid of blocks with so many of them along x. Along y there are at most 65535: the
  // others are along z.
  Dim3 Blocks(uint32_t parts) const {
    constexpr uint32_t kMostY = 65535;
    const uint32_t z = (size_y() + kMostY - 1) / kMostY;
    return {parts, (size_y() + z - 1) / z, z};
  }

 private:
  static constexpr int64_t kMost = int64_t{1} << 31;
  static int64_t ChunksOf(const VectorExtents& extents) { return extents.columns / kWarpSize + 1; }
};

// The vectors of one thread.
class VectorWalk {
 public:
  template <class Thread>
  DTNN_HOST_DEVICE VectorWalk(const VectorGrid& grid, const Thread& thread)
      : grid_(grid),
        part_(thread.block_index().x),
        y_(thread.block_index().z * thread.grid().y + thread.block_index().y) {
    const uint32_t flat = thread.thread_index().x;
    const uint32_t row = flat / grid.lanes;
    lane_ = flat - row * grid.lanes;
    step_ = thread.grid().x * grid.deep;
    item_ = row < grid.deep ? part_ * grid.deep + row : grid.items();
  }
  DTNN_HOST_DEVICE uint32_t part() const { return part_; }
  DTNN_HOST_DEVICE uint32_t lane() const { return lane_; }
  // In the group, or the columns, of all its vectors.
  DTNN_HOST_DEVICE VectorCell first() const { return At(0); }
  DTNN_HOST_DEVICE VectorCell At(uint32_t item) const {
    if (!grid_.planes()) return {item, 0, y_ * grid_.lanes + lane_};
    if (grid_.chunks == 1) return {item, y_, lane_};
    const uint32_t row = item / grid_.chunks;
    return {row, y_, (item - row * grid_.chunks) * grid_.lanes + lane_};
  }
  // Whether its columns, or its group, exist.
  DTNN_HOST_DEVICE bool Exists() const {
    return first().column < grid_.columns && first().group < grid_.groups;
  }
  DTNN_HOST_DEVICE bool Has(const VectorCell& cell) const {
    return cell.column < (cell.row + 1 == grid_.rows ? grid_.last : grid_.columns);
  }

  // use(cell, loaded) for each vector, with kAhead of them loaded before the first is used.
  template <int kAhead, class Body, class Use>
  DTNN_HOST_DEVICE void Each(const Body& body, const Use& use) const {
    const uint32_t items = grid_.items();
    for (uint32_t item = item_; item < items; item += kAhead * step_) {
      typename Body::Loaded loaded[kAhead] = {};
      DTNN_GPU_UNROLL
      for (int k = 0; k < kAhead; ++k) {
        const uint32_t each = item + uint32_t(k) * step_;
        if (each < items && Has(At(each))) loaded[k] = body.Load(At(each));
      }
      DTNN_GPU_UNROLL
      for (int k = 0; k < kAhead; ++k) {
        const uint32_t each = item + uint32_t(k) * step_;
        if (each < items && Has(At(each))) use(At(each), loaded[k]);
      }
    }
  }

 private:
  const VectorGrid& grid_;
  uint32_t part_, y_, lane_, step_, item_;
};

// Memory of a grid: elements from one row to the next, and from one group to the next.
template <typename T, int kLanes>
struct VectorView {
  T* data = nullptr;
  int64_t row = 0, group = 0;

  // For VectorExtents::Flat, which a warp takes as a row.
  static VectorView Flat(T* data) { return {data, kWarpSize * kLanes, 0}; }

  DTNN_HOST_DEVICE T* At(const VectorCell& cell) const {
    return data + int64_t(cell.row) * row + int64_t(cell.group) * group +
           int64_t(cell.column) * kLanes;
  }
  DTNN_HOST_DEVICE Vector<std::remove_const_t<T>, kLanes> Load(const VectorCell& cell) const {
    return LoadVector<kLanes, std::remove_const_t<T>>(At(cell));
  }
  DTNN_HOST_DEVICE void Store(const VectorCell& cell, const Vector<T, kLanes>& vector) const {
    StoreVector(At(cell), vector);
  }
  // All of it: constant elements are read, others written.
  void Declare(const VectorGrid& grid, Accesses& accesses) {
    const int64_t columns = int64_t(grid.columns) * kLanes;
    int64_t rows = grid.rows, length = columns * grid.groups;
    if (grid.order == VectorGrid::Order::kFlat) {
      length = (int64_t(grid.rows) - 1) * columns + int64_t(grid.last) * kLanes;
      rows = 1;
    }
    const int64_t pitch = rows == 1 ? length : row;
    if constexpr (std::is_const_v<T>) {
      accesses.Reads(data, rows, length, pitch, kLanes * sizeof(T));
    } else {
      accesses.Writes(data, rows, length, pitch, kLanes * sizeof(T));
    }
  }
};

// Whether a view may be read in vectors of 16 bytes: beginnings of all rows are aligned. Columns
// have to be a multiple of kFullVector too.
template <typename T>
bool AllowsFullVectors(const void* data, int64_t rows, int64_t row) {
  return std::bit_cast<uintptr_t>(data) % kVectorBytes == 0 &&
         (rows <= 1 || row % kFullVector<T> == 0);
}

template <class Body>
struct EachVector {
  static constexpr uint32_t kThreads = VectorGrid::kThreads;
  static constexpr Cooperation kCooperation = Cooperation::kNone;
  VectorGrid grid;
  Body body;

  void Declare(Accesses& accesses) { body.Declare(grid, accesses); }
  template <class Thread>
  DTNN_HOST_DEVICE void operator()(const Thread& thread) const {
    const VectorWalk walk(grid, thread);
    if (!walk.Exists()) return;
    const auto kept = body.Keep(walk.first());
    walk.template Each<Body::kAhead>(
        body, [&](const VectorCell& cell, const typename Body::Loaded& loaded) {
          body.Store(cell, loaded, kept);
        });
  }
};

// Nothing is read before the loop.
struct NothingKept {};

template <class Body>
absl::Status ForEachVector(Stream& stream, std::string_view name, const VectorExtents& extents,
                           const Body& body) {
  // More do not fit on any GPU at once; each has more to do then.
  constexpr uint32_t kMostBlocks = 4096;
  if (extents.size() <= 0) return absl::OkStatus();
  if (absl::Status status = VectorGrid::Check(extents); !status.ok()) return status;
  const EachVector<Body> functor = {VectorGrid::Of(extents, Body::kLanes), body};
  const VectorGrid& grid = functor.grid;
  return stream.Launch(KernelOf(name, grid.Blocks(grid.Parts(Body::kAhead, kMostBlocks)),
                                {grid.threads()}, 0, functor));
}

}  // namespace DTNN_GPU_COMPILER
}  // namespace dtnn::gpu

#endif  // DTNN_TENSOR_GPU_VECTORS_H_
