// The op of layers that are a softmax, for the primitive of vectors and that of images.

#ifndef DTNN_LAYERS_BASE_SOFTMAX_OP_H_
#define DTNN_LAYERS_BASE_SOFTMAX_OP_H_

#include <memory>
#include <utility>

#include "layers/base/layer.h"

namespace dtnn {

template <class Primitive>
class SoftmaxOp : public LayerOp {
 public:
  explicit SoftmaxOp(std::unique_ptr<Primitive> softmax) : softmax_(std::move(softmax)) {}

  LayerOpTraits traits() const override {
    return {.backward_reads_output = true, .forward_in_place = true, .backward_in_place = 0};
  }
  absl::Status Forward(const ForwardArgs& args) override {
    return softmax_->Forward(args.inputs[0], args.output);
  }
  absl::Status Backward(const BackwardArgs& args) override {
    if (args.dx[0].empty()) return absl::OkStatus();
    return softmax_->Backward(args.output, args.dy, args.dx[0], args.accumulate[0]);
  }

 private:
  std::unique_ptr<Primitive> softmax_;
};

}  // namespace dtnn

#endif  // DTNN_LAYERS_BASE_SOFTMAX_OP_H_
