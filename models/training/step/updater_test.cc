#include "models/training/step/updater.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "comm/local.h"
#include "comm/testing/probe_communicator.h"
#include "gtest/gtest.h"
#include "models/graph/builder.h"
#include "optim/optimizers/sgd.h"
#include "tools/testing/count_allocations.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using ::dtnn::testing::Close;
using ::dtnn::testing::ProbeCommunicator;
using ::dtnn::testing::RandomTensor;
using ::dtnn::testing::Values;

constexpr double kRate = 0.5;

// A group of one rank, and parameters for an updater to work on.
class UpdaterTest : public ::testing::Test {
 protected:
  static Graph Network() {
    GraphBuilder b("network", TensorFormat::kNHWC);
    b.Input({2, 2, 3}).Flatten().Fc(7).Relu().Fc(4).Softmax();
    return *b.Build();
  }
  std::unique_ptr<Updater> Make(const UpdaterOptions& options, const SgdOptions& sgd = {}) {
    EXPECT_TRUE(store_->AllocateForTraining(*device_, sgd.momentum == 0 ? 0 : 1).ok());
    return *Updater::Create(*store_, *device_, Sgd(sgd), options);
  }
  absl::Status Run(Updater& updater, const Tensor& gradients) {
    if (absl::Status status = updater.Begin(gradients); !status.ok()) return status;
    updater.Ready(0);
    return updater.Finish({.learning_rate = kRate, .gradient_scale = 2});
  }
  Tensor Gradients() const { return RandomTensor(DType::kFloat64, store_->values().shape(), 5); }
  // Where plain SGD leaves the values, with a gradient that is scaled by `factor`.
  std::vector<double> Expected(const Tensor& gradients, double factor) const {
    std::vector<double> values = Values(store_->values());
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] -= kRate * factor * gradients.data<double>()[i];
    }
    return values;
  }

  const Graph graph_ = Network();
  std::unique_ptr<DeviceContext> device_ = *DeviceContext::Create(Device::Cpu());
  std::unique_ptr<ParameterStore> store_ =
      *ParameterStore::Create(graph_, *device_, DType::kFloat64, 1);
  std::unique_ptr<Communicator> local_ = std::move((*LocalGroup::Create(1))[0]);
};

TEST_F(UpdaterTest, ParametersFollowTheScaledGradient) {
  for (Communicator* communicator : {static_cast<Communicator*>(nullptr), local_.get()}) {
    const auto updater =
        Make({.communicator = communicator, .reducer = {.bucket_bytes = 128}}, {.momentum = 0});
    const Tensor gradients = Gradients();
    const std::vector<double> expected = Expected(gradients, 2);
    ASSERT_TRUE(Run(*updater, gradients).ok());
    EXPECT_TRUE(Close(Values(store_->values()), expected, 1e-14));
    EXPECT_EQ(updater->buckets() > 1, communicator != nullptr);
    EXPECT_EQ(updater->exchange_seconds() > 0, communicator != nullptr);
  }
}

TEST_F(UpdaterTest, TheNormIsThatOfTheScaledGradient) {
  const auto updater = Make({}, {.momentum = 0});
  EXPECT_EQ(*updater->MeasureGradientNorm(), std::nullopt) << "before any update";
  const Tensor gradients = Gradients();
  ASSERT_TRUE(Run(*updater, gradients).ok());
  double squares = 0;
  for (const double g : Values(gradients)) squares += 4 * g * g;
  EXPECT_NEAR(updater->MeasureGradientNorm()->value_or(-1), std::sqrt(squares), 1e-12);
}

TEST_F(UpdaterTest, ClippingKnowsAllBuckets) {
  const Tensor gradients = Gradients();
  double squares = 0;
  for (const double g : Values(gradients)) squares += 4 * g * g;  // as scaled by the step
  for (const double clip : {0.5, 1e6}) {
    const auto updater = Make({.clip_norm = clip,
                               .communicator = local_.get(),
                               .reducer = {.bucket_bytes = 128, .blocking = false}},
                              {.momentum = 0});
    const std::vector<double> expected =
        Expected(gradients, 2 * std::min(1.0, clip / std::sqrt(squares)));
    ASSERT_TRUE(Run(*updater, gradients).ok());
    EXPECT_TRUE(Close(Values(store_->values()), expected, 1e-13)) << clip;
  }
}

TEST_F(UpdaterTest, DecaySparesTheVectorsInEveryBucket) {
  const Tensor zero = testing::ZeroTensor(DType::kFloat64, store_->values().shape());
  // Biases begin as zeros; elsewhere decay must show.
  for (double& value : std::span(store_->values().data<double>(), size_t(zero.num_elements()))) {
    value = 1;
  }
  std::vector<double> expected = Values(store_->values());
  for (const int64_t bucket_bytes : {64, 192, 1 << 20}) {
    const auto updater =
        Make({.communicator = local_.get(), .reducer = {.bucket_bytes = bucket_bytes}},
             {.momentum = 0, .decay = 0.25, .decay_vectors = false});
    ASSERT_TRUE(Run(*updater, zero).ok());
    for (size_t i = 0; i < expected.size(); ++i) {
      bool vector = false;
      for (const ArenaRange& range : store_->vectors()) {
        vector |= int64_t(i) >= range.begin && int64_t(i) < range.end;
      }
      if (!vector) expected[i] *= 1 - kRate * 0.25;
    }
    EXPECT_TRUE(Close(Values(store_->values()), expected, 1e-14)) << bucket_bytes;
  }
}

TEST_F(UpdaterTest, WholeStepsChangeNothingBeforeTheExchangeHasEnded) {
  for (const bool whole_steps : {true, false}) {
    for (const bool clips : {true, false}) {
      ProbeCommunicator probe(*local_);
      const auto updater = Make({.clip_norm = clips ? 1.0 : 0.0,
                                 .whole_steps = whole_steps,
                                 .communicator = &probe,
                                 .reducer = {.bucket_bytes = 128}});
      const std::vector<double> before = Values(store_->values());
      const uint64_t version = store_->version();
      ASSERT_TRUE(updater->Begin(Gradients()).ok());
      probe.FailAfter(updater->buckets() - 1);
      const absl::Status status = updater->Finish({.learning_rate = kRate});
      EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
      const bool whole = whole_steps || clips;
      EXPECT_EQ(updater->torn(), !whole);
      EXPECT_EQ(Values(store_->values()) == before, whole);
      // Users of values derived from the parameters must learn of it.
      EXPECT_EQ(store_->version() > version, !whole);
      local_ = std::move((*LocalGroup::Create(1))[0]);  // the probe broke the other
    }
  }
}

TEST_F(UpdaterTest, StepsAllocateWhatTheCommunicatorDoes) {
  const Tensor gradients = Gradients();
  for (const bool blocking : {true, false}) {
    const auto updater = Make(
        {.communicator = local_.get(), .reducer = {.bucket_bytes = 128, .blocking = blocking}});
    const auto count = [](const auto& body) {
      body();
      const testing::AllocationCounter counter;
      body();
      return counter.count();
    };
    const int64_t all_reduce = count([&] { EXPECT_TRUE(local_->AllReduce(gradients).ok()); });
    const int64_t step = count([&] { EXPECT_TRUE(Run(*updater, gradients).ok()); });
    EXPECT_GT(all_reduce, 0);
    EXPECT_EQ(step, all_reduce * updater->buckets());
  }
}

}  // namespace
}  // namespace dtnn
