#include "layers/pixels/class_token.h"

#include <utility>
#include <vector>

#include "kernels/bias/bias.h"
#include "kernels/concat/concat.h"
#include "kernels/workspace/scratch.h"
#include "layers/base/input_check.h"
#include "tensor/errors.h"
#include "tensor/rounding.h"

namespace dtnn {
namespace {

constexpr int64_t kMostTokens = 1 << 16;

// Copies of a token for each sample are written by the kernel of biases, as sums with zeros, and
// joined with the pixels by that of concatenations: in NHWC, rows are samples; in NCHW, channels of
// samples.
class ClassTokenOp : public LayerOp {
 public:
  ClassTokenOp(const BindContext& context, int64_t count, std::unique_ptr<Bias> bias,
               std::unique_ptr<Concat> concat)
      : device_(*context.device),
        batch_(context.batch),
        channels_(ExtentsOf(context.inputs[0], context.format).channels),
        format_(context.format),
        dtype_(context.dtype),
        bias_(std::move(bias)),
        concat_(std::move(concat)),
        parts_(size_t(count) + 1),
        accumulate_(std::make_unique<bool[]>(parts_.size())) {}

  LayerOpTraits traits() const override {
    return {.needs_dense = true, .kept_bytes = parts_.size() * TokenBytes()};
  }
  absl::Status Keep(std::shared_ptr<Buffer> memory) override {
    memory_ = std::move(memory);
    return device_.FillZero(Zeros(batch_));
  }
  absl::Status Forward(const ForwardArgs& args) override {
    const int64_t n = args.output.shape()[0];
    Divide(n, args.inputs[0]);
    for (size_t i = 0; i < tokens(); ++i) {
      DTNN_RETURN_IF_ERROR(
          bias_->Forward(Zeros(n), Token(args.parameters[0].tensor, i), Copies(n, i)));
    }
    return concat_->Forward(parts_, Rows(args.output));
  }
  absl::Status Backward(const BackwardArgs& args) override {
    const bool trains = !args.gradients.empty();
    if (!trains && args.dx[0].empty()) return absl::OkStatus();
    const int64_t n = args.dy.shape()[0];
    const Tensor dy = Rows(args.dy);
    if (!trains) {  // the tokens are the one part that is not wanted
      const Tensor parts[] = {Tensor(), Rows(args.dx[0])};
      const bool accumulate[] = {false, args.accumulate[0]};
      return concat_->Backward(dy, parts, accumulate);
    }
    Divide(n, args.dx[0]);
    accumulate_[tokens()] = args.accumulate[0];
    DTNN_RETURN_IF_ERROR(concat_->Backward(dy, parts_, {accumulate_.get(), parts_.size()}));
    for (size_t i = 0; i < tokens(); ++i) {
      DTNN_RETURN_IF_ERROR(
          bias_->Backward(Copies(n, i), Token(args.gradients[0], i), /*accumulate=*/false));
    }
    return absl::OkStatus();
  }

 private:
  size_t tokens() const { return parts_.size() - 1; }
  size_t TokenBytes() const {
    return RoundUp(size_t(batch_ * channels_) * SizeOf(dtype_), kGpuScratchAlignment);
  }
  // What is kept, for n samples: zeros, and then the copies of each token.
  Tensor Zeros(int64_t n) const { return Tensor::View(memory_, 0, dtype_, {n, channels_}); }
  Tensor Copies(int64_t n, size_t token) const {
    return Tensor::View(memory_, (token + 1) * TokenBytes(), dtype_, {n, channels_});
  }
  // One of them in the parameter, or in its gradient.
  Tensor Token(const Tensor& all, size_t token) const {
    return all.Reshaped({int64_t(tokens()), channels_})
        .Samples(int64_t(token), 1, format_)
        .Reshaped({channels_});
  }
  // A matrix, whose columns the kernel joins.
  Tensor Rows(const Tensor& of) const {
    if (of.empty()) return of;
    const int64_t n = of.shape()[0], rows = format_ == TensorFormat::kNHWC ? n : n * channels_;
    return of.Reshaped({rows, of.num_elements() / rows});
  }
  void Divide(int64_t n, const Tensor& pixels) {
    for (size_t i = 0; i < tokens(); ++i) parts_[i] = Rows(Copies(n, i));
    parts_.back() = Rows(pixels);
  }

  DeviceContext& device_;
  int64_t batch_, channels_;
  TensorFormat format_;
  DType dtype_;
  std::unique_ptr<Bias> bias_;
  std::unique_ptr<Concat> concat_;
  std::shared_ptr<Buffer> memory_;
  // What is concatenated, kept here since steps allocate nothing.
  std::vector<Tensor> parts_;
  std::unique_ptr<bool[]> accumulate_;
};

}  // namespace

std::shared_ptr<const Layer> ClassTokenLayer::FromAttributes(AttributeReader& read) {
  return std::make_shared<ClassTokenLayer>(read.Int("count"));
}

absl::StatusOr<Shape> ClassTokenLayer::OutputShape(std::span<const Shape> inputs,
                                                   TensorFormat format) const {
  DTNN_RETURN_IF_ERROR(ExpectOneImage(inputs));
  const ImageExtents image = ExtentsOf(inputs[0], format);
  if (count_ < 1 || count_ > kMostTokens) {
    return InvalidArgument("count is ", count_, ", expected 1 to ", kMostTokens);
  }
  return SampleShape({1, count_ + image.height * image.width, image.channels}, format);
}

std::vector<ParameterSpec> ClassTokenLayer::Parameters(std::span<const Shape> inputs,
                                                       TensorFormat format) const {
  return {{.name = "token",
           .shape = {count_ * ExtentsOf(inputs[0], format).channels},
           .initializer = {.kind = InitializerKind::kZeros}}};
}

absl::StatusOr<std::unique_ptr<LayerOp>> ClassTokenLayer::Bind(const BindContext& context) const {
  const int64_t channels = ExtentsOf(context.inputs[0], context.format).channels;
  DTNN_ASSIGN_OR_RETURN(
      std::unique_ptr<Bias> bias,
      CreateBias(*context.device, {.channels = channels, .dtype = context.dtype}));
  DTNN_ASSIGN_OR_RETURN(std::unique_ptr<Concat> concat,
                        CreateConcat(*context.device, {.dtype = context.dtype}));
  return std::make_unique<ClassTokenOp>(context, count_, std::move(bias), std::move(concat));
}

std::string ClassTokenLayer::SettingsCell() const {
  return count_ == 1 ? "" : StrCat(count_, " tokens");
}

}  // namespace dtnn
