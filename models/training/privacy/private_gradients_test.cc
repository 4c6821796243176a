#include "models/training/privacy/private_gradients.h"

#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "comm/secrets/crypto/chacha20_stream.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/graph/builder.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using ::dtnn::testing::Values;
using ::testing::HasSubstr;

std::shared_ptr<ChaCha20Stream> Stream(uint8_t seed) {
  std::array<uint8_t, Secret::kSize> bytes = {};
  bytes[0] = seed;
  return std::make_shared<ChaCha20Stream>(*ChaCha20Stream::Create(bytes));
}

// Parameters of 7 x 5 and 5, with gaps between them.
Graph Network() {
  GraphBuilder b("small", TensorFormat::kNHWC);
  b.Input({1, 7, 1}).Flatten().Fc(5);
  return *b.Build();
}

struct Session {
  explicit Session(const PrivateTraining& options, DType dtype = DType::kFloat32)
      : device(*DeviceContext::Create(Device::Cpu())),
        store(*ParameterStore::Create(graph, *device, dtype, 1)) {
    EXPECT_TRUE(store->AllocateForTraining(*device, 0).ok());
    gradients = *PrivateGradients::Create(options, graph, *store);
  }
  // All parameters one after the other, without the gaps.
  std::vector<double> Read() const {
    std::vector<double> values = Values(store->Gradient(2, 0));
    const std::vector<double> biases = Values(store->Gradient(2, 1));
    values.insert(values.end(), biases.begin(), biases.end());
    return values;
  }
  void Set(const std::vector<double>& values) {
    for (int p = 0; p < 2; ++p) {
      const Tensor to = store->Gradient(2, p);
      for (int64_t i = 0; i < to.num_elements(); ++i) {
        const double value = values[size_t(p == 0 ? i : 35 + i)];
        if (to.dtype() == DType::kFloat32) {
          to.data<float>()[i] = float(value);
        } else {
          to.data<double>()[i] = value;
        }
      }
    }
  }

  const Graph graph = Network();
  std::unique_ptr<DeviceContext> device;
  std::unique_ptr<ParameterStore> store;
  std::unique_ptr<PrivateGradients> gradients;
};

std::vector<std::vector<double>> Samples() {
  std::vector<std::vector<double>> samples;
  for (int i = 0; i < 6; ++i) {
    samples.push_back(Values(testing::RandomTensor(DType::kFloat32, Shape{40}, uint64_t(i))));
    for (double& x : samples.back()) x *= 0.05 * std::pow(3, i);  // short ones and long ones
  }
  samples.push_back(std::vector<double>(40));
  return samples;
}

TEST(PrivateGradientsTest, TheGradientIsTheSumOfClippedOnesAndNoiseOverTheMean) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
    constexpr double kClip = 2, kNoise = 0.5, kMean = 3;
    Session session({.clip = kClip, .noise = kNoise, .random = Stream(1)}, dtype);
    Session noise({.clip = kClip, .noise = kNoise, .random = Stream(1)}, dtype);
    noise.gradients->Finish({}, kMean, noise.store->gradients());
    std::vector<double> wanted(40);
    PrivateGradients::Sum sums[] = {session.gradients->NewSum(), session.gradients->NewSum()};
    int shorter = 0;
    const auto samples = Samples();
    for (size_t s = 0; s < samples.size(); ++s) {
      session.Set(samples[s]);
      session.gradients->Add(session.store->gradients(), sums[s % 2]);
      double squares = 0;
      for (const double x : samples[s]) squares += x * x;
      const double factor = std::min(1.0, kClip / std::sqrt(squares));
      shorter += factor < 1;
      for (size_t i = 0; i < 40; ++i) wanted[i] += factor * samples[s][i] / kMean;
    }
    ASSERT_TRUE(shorter > 0 && shorter < 6);
    session.gradients->Finish(sums, kMean, session.store->gradients());
    const std::vector<double> found = session.Read(), of_noise = noise.Read();
    // Half a step per sample, and what clipping a little more takes off.
    const double step = kClip * kNoise / (1 << 20);
    const double tolerance = 7 * (0.5 + std::sqrt(40.0) / 2) * step / kMean + 1e-6;
    for (size_t i = 0; i < 40; ++i) EXPECT_NEAR(found[i] - of_noise[i], wanted[i], tolerance) << i;
  }
}

TEST(PrivateGradientsTest, NoSampleIsLongerThanTheClipAfterRounding) {
  const double clip = 0.7, noise = 30, step = clip * noise / (1 << 20);  // coarse steps
  Session session({.clip = clip, .noise = noise});
  for (uint64_t seed = 0; seed < 50; ++seed) {
    session.Set(Values(testing::RandomTensor(DType::kFloat32, Shape{40}, seed)));
    PrivateGradients::Sum sum = session.gradients->NewSum();
    session.gradients->Add(session.store->gradients(), sum);
    double squares = 0;
    for (const double x : sum) {
      EXPECT_EQ(x, std::rint(x));
      squares += x * x * step * step;
    }
    EXPECT_LE(std::sqrt(squares), clip);
    EXPECT_GT(std::sqrt(squares), 0.999 * clip);
  }
}

TEST(PrivateGradientsTest, NoiseHasItsDeviationAndLeavesGapsAlone) {
  constexpr double kClip = 3, kNoise = 1.5, kMean = 10, kWanted = kClip * kNoise / kMean;
  Session session({.clip = kClip, .noise = kNoise, .random = Stream(2)});
  double sum = 0, squares = 0, products = 0, last = 0;
  constexpr int kTimes = 1000, kCount = 40 * kTimes;
  for (int time = 0; time < kTimes; ++time) {
    session.gradients->Finish({}, kMean, session.store->gradients());
    for (const double x : session.Read()) {
      sum += x;
      squares += x * x;
      products += x * last;
      last = x;
    }
  }
  EXPECT_NEAR(sum / kCount, 0, 5 * kWanted / std::sqrt(kCount));
  EXPECT_NEAR(squares / kCount, kWanted * kWanted, 5 * std::sqrt(2.0 / kCount) * kWanted * kWanted);
  EXPECT_NEAR(products / kCount, 0, 5 * kWanted * kWanted / std::sqrt(kCount));
  double all = 0, parameters = 0;
  for (const double x : Values(session.store->gradients())) all += std::abs(x);
  for (const double x : session.Read()) parameters += std::abs(x);
  EXPECT_EQ(all, parameters);
}

TEST(PrivateGradientsTest, NoiseIsAnotherEachTimeUnlessItsStreamIsGiven) {
  std::vector<std::vector<double>> found;
  for (const auto& random : {Stream(1), Stream(1), Stream(2), std::shared_ptr<ChaCha20Stream>(),
                             std::shared_ptr<ChaCha20Stream>()}) {
    Session session({.clip = 1, .noise = 1, .random = random});
    session.gradients->Finish({}, 1, session.store->gradients());
    found.push_back(session.Read());
  }
  EXPECT_EQ(found[0], found[1]);
  EXPECT_NE(found[0], found[2]);
  EXPECT_NE(found[3], found[4]);
}

TEST(PrivateGradientsTest, AGradientThatIsNotFiniteCountsAsZero) {
  Session session({.clip = 1, .noise = 1});
  for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    std::vector<double> values(40, 0.1);
    values[17] = bad;
    session.Set(values);
    PrivateGradients::Sum sum = session.gradients->NewSum();
    session.gradients->Add(session.store->gradients(), sum);
    EXPECT_EQ(sum, session.gradients->NewSum());
  }
}

TEST(PrivateGradientsTest, RefusesNumbersOutOfRange) {
  const auto message = [](const PrivateTraining& options) {
    return std::string(PrivateGradients::Check(options, Network()).message());
  };
  EXPECT_EQ(message({.clip = 1, .noise = 1}), "");
  EXPECT_EQ(message({.clip = 1}),
            "differential privacy of samples with clip 1, noise 0, delta 1e-05: expected 1e-30 to "
            "1e12, 0.01 to 1e6, 1e-12 to 0.5");
  EXPECT_NE(message({.noise = 1}), "");
  EXPECT_NE(message({.clip = -1, .noise = 1}), "");
  EXPECT_NE(message({.clip = std::nan(""), .noise = 1}), "");
  EXPECT_NE(message({.clip = 1, .noise = 1, .delta = 1e-13}), "");
  EXPECT_TRUE((PrivateTraining{.noise = 1}).enabled());
  EXPECT_FALSE(PrivateTraining().enabled());
  const Session session({.clip = 1, .noise = 1});
  EXPECT_THAT(PrivateGradients::Create({.clip = 1, .noise = 1e5}, session.graph, *session.store)
                  .status()
                  .message(),
              HasSubstr("too much for 40 parameters"));
}

TEST(PrivateGradientsTest, RefusesStatisticsOfBatchesUnlessTheyAreFrozen) {
  GraphBuilder b("normalised", TensorFormat::kNHWC);
  b.Input({4, 4, 1}).Conv2d(2).BatchNorm().Flatten().Fc(2);
  const Graph graph = *b.Build();
  EXPECT_EQ(PrivateGradients::Check({.clip = 1, .noise = 1}, graph).message(),
            "differential privacy of samples: layer 2_BatchNormalization normalises the samples of "
            "a batch together, and its running statistics have no noise; use a group "
            "normalisation, or freeze the layer");
  const int normalisation = 2;
  EXPECT_TRUE(
      PrivateGradients::Check({.clip = 1, .noise = 1}, graph.Frozen({{normalisation}})).ok());
}

}  // namespace
}  // namespace dtnn
