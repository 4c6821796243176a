#include "optim/optimizers/proximal.h"

#include <memory>
#include <optional>
#include <vector>

#include "gtest/gtest.h"
#include "optim/optimizers/sgd.h"
#include "tensor/must.h"

namespace dtnn {
namespace {

Tensor Of(const std::vector<float>& values) {
  const Tensor x = Must(Tensor::Zeros(DType::kFloat32, Shape{int64_t(values.size())}));
  std::copy(values.begin(), values.end(), x.data<float>());
  return x;
}

// w after one step from there, with the gradient scaled by `scale`, and clipped by `factor`.
std::vector<float> Step(double mu, double scale, std::optional<double> factor = std::nullopt) {
  const auto context = Must(DeviceContext::Create(Device::Cpu()));
  ProximalOptimizer optimizer(std::make_shared<Sgd>(SgdOptions{.momentum = 0}));
  const auto update = Must(optimizer.Bind(*context, DType::kFloat32, {}));
  optimizer.set_mu(mu);
  const Tensor w = Of({1, 2, -3}), gradient = Of({0.5, 0, 4}), first = Of({0, 2, 1});
  EXPECT_EQ(optimizer.slots(), 1);
  const std::vector<Tensor> slots = {first};
  Must(update->SetStep({.learning_rate = 0.25, .step = 1, .gradient_scale = scale}));
  UpdateGates gates;
  if (factor) {
    gates.factor = Must(Tensor::Zeros(DType::kFloat64, Shape{1}));
    *gates.factor.data<double>() = *factor;
  }
  Must(update->Run(w, gradient, slots, gates));
  return {w.data<float>(), w.data<float>() + 3};
}

TEST(ProximalTest, AddsMuTimesTheDistance) {
  // g + mu (w - w0) = {0.5 + 0.5, 0, 4 - 2}
  EXPECT_EQ(Step(0.5, 1), (std::vector<float>{0.75f, 2, -3.5f}));
}

TEST(ProximalTest, TheScaleOfGradientsIsNotThatOfTheTerm) {
  // 0.5 g + 0.5 (w - w0) = {0.25 + 0.5, 0, 2 - 2}
  EXPECT_EQ(Step(0.5, 0.5), (std::vector<float>{0.8125f, 2, -3}));
}

TEST(ProximalTest, ClippingShortensTheGradientAlone) {
  // 0.5 * 0.25 g + 0.5 (w - w0) = {0.0625 + 0.5, 0, 0.5 - 2}
  EXPECT_EQ(Step(0.5, 0.5, 0.25), (std::vector<float>{0.859375f, 2, -2.625f}));
}

TEST(ProximalTest, WithoutMuItIsTheOptimizer) {
  EXPECT_EQ(Step(0, 1), (std::vector<float>{0.875f, 2, -4}));
}

// g + slot, where the scale is of g alone: {0.25 + 0, 0 + 2, 2 + 1}
TEST(ProximalTest, TheSlotIsAddedInPlaceOfTheTerm) {
  const auto context = Must(DeviceContext::Create(Device::Cpu()));
  ProximalOptimizer optimizer(std::make_shared<Sgd>(SgdOptions{.momentum = 0}));
  const auto update = Must(optimizer.Bind(*context, DType::kFloat32, {}));
  const auto of_other_part = Must(optimizer.Bind(*context, DType::kFloat32, {}));
  optimizer.set_mu(8);
  optimizer.set_adds_slot(true);
  optimizer.CountRates();
  const Tensor w = Of({1, 2, -3}), gradient = Of({0.5, 0, 4});
  const std::vector<Tensor> slots = {Of({0, 2, 1})};
  for (const auto& part : {update.get(), of_other_part.get()}) {
    Must(part->SetStep({.learning_rate = 0.25, .step = 1, .gradient_scale = 0.5}));
  }
  Must(update->Run(w, gradient, slots, UpdateGates()));
  EXPECT_EQ(std::vector<float>(w.data<float>(), w.data<float>() + 3),
            (std::vector<float>{0.9375f, 1.5f, -3.75f}));
  EXPECT_EQ(optimizer.rates(), 0.25) << "both parts have one step";
  Must(update->SetStep({.learning_rate = 0.5, .step = 2}));
  EXPECT_EQ(optimizer.rates(), 0.75);
  optimizer.CountRates();
  Must(update->SetStep({.learning_rate = 0.125, .step = 1}));
  EXPECT_EQ(optimizer.rates(), 0.125);
}

TEST(ProximalTest, OtherTypesThanFloat32AreRefused) {
  const auto context = Must(DeviceContext::Create(Device::Cpu()));
  const ProximalOptimizer optimizer(std::make_shared<Sgd>());
  const absl::Status refused = optimizer.Bind(*context, DType::kFloat64, {}).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(refused.message(), "a proximal term is computed on CPUs and in float32 only");
}

// Its own slot comes last: all else is where the optimizer has it.
TEST(ProximalTest, AllElseIsThatOfTheOptimizer) {
  for (const double momentum : {0.0, 0.9}) {
    for (const double average_decay : {0.0, 0.5}) {
      const auto inner =
          std::make_shared<Sgd>(SgdOptions{.momentum = momentum, .average_decay = average_decay});
      const ProximalOptimizer optimizer(inner);
      EXPECT_EQ(optimizer.name(), "sgd");
      EXPECT_EQ(optimizer.slots(), (momentum > 0) + (average_decay > 0) + 1);
      EXPECT_EQ(optimizer.average_slot(),
                average_decay > 0 ? std::optional<int>(momentum > 0) : std::nullopt);
      EXPECT_EQ(optimizer.constants(), inner->constants());
    }
  }
}

}  // namespace
}  // namespace dtnn
