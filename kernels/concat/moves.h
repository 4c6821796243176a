// What the implementations of Concat share: the check of a whole and its parts, and which rows of
// each part are moved.

#ifndef DTNN_KERNELS_CONCAT_MOVES_H_
#define DTNN_KERNELS_CONCAT_MOVES_H_

#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "kernels/concat/concat.h"
#include "kernels/elementwise/operands.h"

namespace dtnn {

// How tensors of the operation split into rows: a pixel, an image (NCHW) or a matrix row.
struct ConcatLayout {
  int64_t rows = 0, channels = 0;
  int64_t inner = 1;  // elements of a row per channel

  ConcatLayout(const Tensor& tensor, TensorFormat format);
};

// One part, and the range of the whole that it belongs to, as `rows` rows of `columns` elements.
struct ConcatPart {
  size_t index = 0;
  int64_t rows = 0, columns = 0;
  Operand whole = {}, part = {};

  bool IsWhereItBelongs() const { return part.data == whole.data && part.pitch == whole.pitch; }
};

class ConcatMoves {
 public:
  // InvalidArgument, naming shapes, unless the parts have the channels of the whole; one of them
  // may be empty, which then has those that are left.
  static absl::StatusOr<ConcatMoves> Of(const ConcatSpec& spec, Device device, const Tensor& whole,
                                        std::span<const Tensor> parts);

  const ConcatLayout& layout() const { return layout_; }

  // Calls visit(ConcatPart) for every part that is not empty, in order.
  template <class Visit>
  void ForEachPart(const Visit& visit) const {
    const Operand all =
        OperandIn({layout_.rows, layout_.channels * layout_.inner}, whole_, spec_.format);
    int64_t offset = 0;  // elements from the beginning of a row
    for (size_t i = 0; i < parts_.size(); ++i) {
      const Tensor& part = parts_[i];
      const int64_t channels = part.empty() ? skipped_ : ConcatLayout(part, spec_.format).channels;
      const int64_t columns = channels * layout_.inner;
      char* const begin = static_cast<char*>(all.data) + size_t(offset) * SizeOf(spec_.dtype);
      offset += columns;
      if (part.empty()) continue;
      visit(ConcatPart{.index = i,
                       .rows = layout_.rows,
                       .columns = columns,
                       .whole = {begin, all.pitch},
                       .part = OperandIn({layout_.rows, columns}, part, spec_.format)});
    }
  }

 private:
  ConcatMoves(const ConcatSpec& spec, const Tensor& whole, std::span<const Tensor> parts,
              int64_t skipped)
      : spec_(spec), whole_(whole), parts_(parts), layout_(whole, spec.format), skipped_(skipped) {}

  ConcatSpec spec_;
  Tensor whole_;
  std::span<const Tensor> parts_;
  ConcatLayout layout_;
  int64_t skipped_;  // channels of the empty part
};

// InvalidArgument unless there is a flag for every gradient.
absl::Status CheckAccumulateFlags(size_t gradients, size_t flags);

}  // namespace dtnn

#endif  // DTNN_KERNELS_CONCAT_MOVES_H_
