#include "models/testing/gradient_check.h"

#include <memory>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "layers/activation.h"
#include "models/graph/builder.h"

namespace dtnn::testing {
namespace {

// A tanh whose backward pass forgets a thousandth of what it should hand on.
class LossyOp : public LayerOp {
 public:
  explicit LossyOp(std::unique_ptr<LayerOp> tanh) : tanh_(std::move(tanh)) {}
  LayerOpTraits traits() const override { return tanh_->traits(); }
  absl::Status Forward(const ForwardArgs& args) override { return tanh_->Forward(args); }
  absl::Status Backward(const BackwardArgs& args) override {
    const absl::Status status = tanh_->Backward(args);
    for (int64_t i = 0; i < args.dx[0].num_elements(); ++i) args.dx[0].data<double>()[i] *= 0.999;
    return status;
  }

 private:
  std::unique_ptr<LayerOp> tanh_;
};

class LossyTanh : public ActivationLayer {
 public:
  LossyTanh() : ActivationLayer(ActivationKind::kTanh) {}
  absl::StatusOr<std::unique_ptr<LayerOp>> Bind(const BindContext& context) const override {
    auto op = ActivationLayer::Bind(context);
    if (!op.ok()) return op.status();
    return std::make_unique<LossyOp>(*std::move(op));
  }
};

TEST(NetworkGradientCheckTest, PassesWhatIsRight) {
  for (TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    GraphBuilder b("right", format);
    b.Input({6, 5, 2}).Conv2d(3, {.padding = 1}).Relu().MaxPool2d({.stride = 2}).Tanh();
    b.Flatten().Fc(6).Relu().Dropout(0.3).Fc(4).Softmax();
    EXPECT_TRUE(CheckNetworkGradients(*b.Build(), {.elements = 1000}));
  }
}

TEST(NetworkGradientCheckTest, FindsAThousandthTooLittleInFrontOfTheLayer) {
  GraphBuilder b("wrong", TensorFormat::kNHWC);
  b.Input({6, 5, 2}).Conv2d(3, {.padding = 1}).Append(std::make_shared<LossyTanh>());
  b.Flatten().Fc(4).Softmax();
  const ::testing::AssertionResult result = CheckNetworkGradients(*b.Build());
  EXPECT_FALSE(result);
  EXPECT_NE(std::string(result.message()).find("1_Conv2D_weights, element 0"), std::string::npos)
      << result.message();
}

TEST(NetworkGradientCheckTest, RefusesNetworksThatShowNothing) {
  GraphBuilder one_class("one_class", TensorFormat::kNHWC);
  one_class.Input({6, 5, 2}).Flatten().Fc(3).Relu().Fc(1).Softmax();
  GraphBuilder untrained("untrained", TensorFormat::kNHWC);
  untrained.Input({6, 5, 2}).Flatten().Softmax();
  for (GraphBuilder* b : {&one_class, &untrained}) {
    const ::testing::AssertionResult result = CheckNetworkGradients(*b->Build());
    EXPECT_FALSE(result);
    EXPECT_NE(std::string(result.message()).find("only 0 of"), std::string::npos)
        << result.message();
  }
}

}  // namespace
}  // namespace dtnn::testing
