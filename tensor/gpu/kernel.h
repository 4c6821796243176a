// A kernel as Stream::Launch takes it: a functor that one thread of the grid runs, the shape of the
// grid, and what the functor touches.
//
// The functor is trivially copyable and has two members: `operator()(const Thread&) const`, a
// template that both a thread of CUDA and a simulated one can run (launch.h), and
// `void Declare(Accesses&)`, which names every pointer in it with the memory behind it. The
// declaration is all that a simulated GPU lets the kernel see: it checks the ranges, looks for
// operations that nothing orders before or after, and gives the kernel views of that memory and no
// other. So a pointer that is not declared, or that is written though declared as read, ends the
// kernel with an error. CUDA ignores the declaration.

#ifndef DTNN_TENSOR_GPU_KERNEL_H_
#define DTNN_TENSOR_GPU_KERNEL_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "tensor/host_device.h"

namespace dtnn::gpu {

class SimulatedThread;

inline constexpr int kWarpSize = 32;

struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;

  // Up to 2^96 for the widest: a double is wide enough, and exact for all that can be launched.
  double count() const { return double(x) * double(y) * double(z); }
};

enum class AccessMode : uint8_t { kRead, kWrite };

// `rows` runs of `row_bytes` bytes, whose beginnings lie `pitch` bytes apart, at multiples of
// `alignment`.
struct Access {
  std::byte* begin = nullptr;
  size_t row_bytes = 0, rows = 1, pitch = 0;
  AccessMode mode = AccessMode::kRead;
  size_t alignment = 1;

  size_t extent() const { return (rows - 1) * pitch + row_bytes; }
  const std::byte* end() const { return begin + extent(); }
};

// Filled by a functor's Declare. Null pointers and empty ranges count as absent.
class Accesses {
 public:
  struct Item {
    void* argument;  // where the pointer itself lies
    Access access;
  };

  // `count` elements, or `rows` times `columns` elements with beginnings `pitch` elements apart; a
  // kernel that takes `vector` bytes at once needs beginnings at multiples of that.
  template <typename T>
  void Reads(const T*& pointer, int64_t count) {
    Reads(pointer, 1, count, count);
  }
  template <typename T>
  void Reads(const T*& pointer, int64_t rows, int64_t columns, int64_t pitch,
             size_t vector = alignof(T)) {
    Add(&pointer, pointer, rows, columns, pitch, sizeof(T), vector, AccessMode::kRead);
  }
  // Written, and perhaps read before.
  template <typename T>
  void Writes(T*& pointer, int64_t count) {
    Writes(pointer, 1, count, count);
  }
  template <typename T>
  void Writes(T*& pointer, int64_t rows, int64_t columns, int64_t pitch,
              size_t vector = alignof(T)) {
    Add(&pointer, pointer, rows, columns, pitch, sizeof(T), vector, AccessMode::kWrite);
  }

  std::span<const Item> items() const { return items_; }

 private:
  void Add(void* argument, const void* begin, int64_t rows, int64_t columns, int64_t pitch,
           size_t size, size_t vector, AccessMode mode) {
    if (begin == nullptr || rows <= 0 || columns <= 0) return;
    std::byte* const from = static_cast<std::byte*>(const_cast<void*>(begin));
    if (pitch == columns) columns *= rows, rows = 1;  // dense
    if (pitch == 0) rows = 1;                         // the same row again and again
    items_.push_back(
        {argument,
         {from, size_t(columns) * size, size_t(rows), size_t(pitch) * size, mode, vector}});
  }

  std::vector<Item> items_;
};

// Which threads wait for each other: none, those of a warp, or all of a block. The last two take
// blocks of whole warps.
enum class Cooperation : uint8_t { kNone, kWarp, kBlock };

// One launch; refers to the functor, which Launch copies. Made by KernelOf (launch.h).
struct Kernel {
  std::string_view name;
  Dim3 grid, block;
  size_t shared_bytes = 0;
  Cooperation cooperation = Cooperation::kNone;
  uint32_t most_threads = 1024;  // per block, that it was compiled for
  const void* arguments = nullptr;
  size_t argument_bytes = 0;
  void (*declare)(void* arguments, Accesses& accesses) = nullptr;
  void (*simulate)(const void* arguments, const SimulatedThread& thread) = nullptr;
  const void* cuda_function = nullptr;  // null in code that nvcc did not compile
};

}  // namespace dtnn::gpu

#endif  // DTNN_TENSOR_GPU_KERNEL_H_
