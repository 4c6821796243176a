// Memory for tests that shows every access outside of what a kernel was given.
//
// A block ends where a page begins that nobody may touch (or begins where one ends): an access
// beyond it ends the program with SIGSEGV. On its other side, and between the rows of a pitched
// tensor, are bytes of 0xff, NaN in every floating type: what is read there spoils the results, and
// what is written there fails the test when the last view of the block is gone.
//
// The tensors of tests (tensors.h) lie in such memory.

#ifndef DTNN_TOOLS_TESTING_FENCED_H_
#define DTNN_TOOLS_TESTING_FENCED_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "tensor/tensor.h"

namespace dtnn::testing {

// The side of the page that nobody may touch.
enum class Fence : uint8_t { kBehind, kBefore };

// A dense tensor; all bytes are 0xff.
Tensor FencedTensor(DType dtype, const Shape& shape, Fence fence = Fence::kBehind);

// The middle channels of a wider image tensor, or columns of a matrix, whose other channels are
// guarded. The view itself begins or ends at the page.
Tensor FencedPitched(DType dtype, const Shape& shape, TensorFormat format,
                     Fence fence = Fence::kBehind);

// A workspace, aligned to 64 bytes as its contract says; contents are undefined, so each call gets
// it full of 0xff. Where its size is not a multiple of 64, the bytes up to the page are guarded as
// those of the other side are.
class FencedWorkspace {
 public:
  explicit FencedWorkspace(size_t bytes, Fence fence = Fence::kBehind);
  std::span<std::byte> Dirty() const;
  operator std::span<std::byte>() const { return Dirty(); }  // NOLINT: it is one

 private:
  Tensor memory_;
};

}  // namespace dtnn::testing

#endif  // DTNN_TOOLS_TESTING_FENCED_H_
