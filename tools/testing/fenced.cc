#include "tools/testing/fenced.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tensor/rounding.h"
#include "tensor/shape.h"

namespace dtnn::testing {
namespace {

constexpr std::byte kFiller{0xff};

// Rows of `size` bytes, the next `pitch` bytes later, that a view owns in a block.
struct Extent {
  size_t rows = 1, size = 0, pitch = 0;
  size_t bytes() const { return rows == 0 ? 0 : (rows - 1) * pitch + size; }
};

// One block and the page; what its destructor finds changed is a failure of the test.
class Block {
 public:
  // `margin`: of the buffer on both sides, never touched.
  Block(const Extent& extent, Fence fence, size_t alignment, size_t margin)
      : extent_(extent), page_(size_t(sysconf(_SC_PAGESIZE))) {
    const size_t pages = RoundUp(std::max<size_t>(extent.bytes(), 1), page_);
    // One page to align, and the one that nobody may touch.
    buffer_ = *Buffer::Allocate(Device::Cpu(), pages + 2 * page_ + 2 * margin);
    std::byte* const from = buffer_->data() + margin;
    std::byte* const first = from + (page_ - reinterpret_cast<uintptr_t>(from) % page_);
    const bool behind = fence == Fence::kBehind;
    memory_ = {behind ? first : first + page_, pages};
    fence_ = behind ? first + pages : first;
    std::ranges::fill(memory_, kFiller);
    begin_ = behind ? (pages - extent.bytes()) / alignment * alignment : 0;
    EXPECT_EQ(mprotect(fence_, page_, PROT_NONE), 0);
  }
  ~Block() {
    EXPECT_EQ(mprotect(fence_, page_, PROT_READ | PROT_WRITE), 0);
    bool intact = Check(0, begin_);
    for (size_t row = 1; row < extent_.rows && intact; ++row) {
      const size_t next = begin_ + row * extent_.pitch;
      intact = Check(next - extent_.pitch + extent_.size, next);
    }
    if (intact) Check(begin_ + extent_.bytes(), memory_.size());
  }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  Buffer* buffer() const { return buffer_.get(); }
  // Where the view begins in the buffer.
  size_t offset() const { return size_t(memory_.data() - buffer_->data()) + begin_; }

 private:
  // Fails the test where a byte in [from, to) of the memory has changed.
  bool Check(size_t from, size_t to) const {
    for (size_t i = from; i < to; ++i) {
      if (memory_[i] == kFiller) continue;
      ADD_FAILURE() << "written outside a tensor or workspace of " << extent_.rows << " rows of "
                    << extent_.size << " bytes, pitch " << extent_.pitch << ": byte "
                    << int64_t(i) - int64_t(begin_);
      return false;
    }
    return true;
  }

  const Extent extent_;
  const size_t page_;
  std::shared_ptr<Buffer> buffer_;
  std::span<std::byte> memory_;  // all but the page
  std::byte* fence_;
  size_t begin_;  // of the extent in the memory
};

// Lives as long as the buffer's last view.
struct Fenced {
  std::shared_ptr<Buffer> buffer;
  size_t offset;
};

Fenced MakeFenced(const Extent& extent, Fence fence, size_t alignment, size_t margin = 0) {
  auto block = std::make_shared<Block>(extent, fence, alignment, margin);
  const size_t offset = block->offset();
  Buffer* const buffer = block->buffer();
  return {std::shared_ptr<Buffer>(std::move(block), buffer), offset};
}

}  // namespace

Tensor FencedTensor(DType dtype, const Shape& shape, Fence fence) {
  const size_t size = size_t(shape.NumElements()) * SizeOf(dtype);
  const Fenced memory = MakeFenced({1, size, size}, fence, SizeOf(dtype));
  return Tensor::View(memory.buffer, memory.offset, dtype, shape);
}

Tensor FencedPitched(DType dtype, const Shape& shape, TensorFormat format, Fence fence) {
  const bool innermost = shape.rank() == 2 || format == TensorFormat::kNHWC;
  const int axis = innermost ? shape.rank() - 1 : 1;
  const int64_t before = 3, after = 2, channels = shape[axis];
  std::vector<int64_t> extents(shape.extents().begin(), shape.extents().end());
  extents[size_t(axis)] += before + after;
  const Shape wide = *Shape::Make(extents);
  // Elements of one channel, and of a row of the view and of the wider tensor.
  const int64_t plane = innermost ? 1 : shape[2] * shape[3];
  const int64_t row = plane * channels, wide_row = row + plane * (before + after);
  const size_t element = SizeOf(dtype);
  const size_t rows = wide_row == 0 ? 0 : size_t(wide.NumElements() / wide_row);
  const size_t left = size_t(before * plane) * element;
  const Fenced memory = MakeFenced({rows, size_t(row) * element, size_t(wide_row) * element}, fence,
                                   element, size_t(plane * (before + after)) * element);
  return Tensor::View(memory.buffer, memory.offset - left, dtype, wide)
      .Channels(before, channels, format);
}

FencedWorkspace::FencedWorkspace(size_t bytes, Fence fence) {
  const Fenced memory = MakeFenced({1, bytes, bytes}, fence, Buffer::kAlignment);
  memory_ = Tensor::View(memory.buffer, memory.offset, DType::kUint8, Shape{int64_t(bytes)});
}

std::span<std::byte> FencedWorkspace::Dirty() const {
  const std::span<std::byte> bytes(memory_.raw_data(), size_t(memory_.num_elements()));
  std::ranges::fill(bytes, kFiller);
  return bytes;
}

}  // namespace dtnn::testing
