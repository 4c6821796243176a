#include "layers/base/shared_statistics.h"

#include <cmath>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/transfers/transfers.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using ::dtnn::testing::TensorOf;
using ::dtnn::testing::Values;

// The last of several ranks, which knows what the others have sent.
class LastRank : public RankExchange {
 public:
  explicit LastRank(std::vector<std::vector<double>> others) : others_(std::move(others)) {}
  int rank() const override { return int(others_.size()); }
  int ranks() const override { return rank() + 1; }
  absl::Status Sum(const Tensor& tensor) override {
    for (const std::vector<double>& other : others_) {
      for (size_t i = 0; i < other.size(); ++i) tensor.data<double>()[i] += other[i];
    }
    return absl::OkStatus();
  }
  absl::Status Gather(const Tensor& mine, const Tensor& all) override {
    double* to = all.data<double>();
    for (const std::vector<double>& other : others_) {
      EXPECT_EQ(int64_t(other.size()), mine.num_elements());
      for (double value : other) *to++ = value;
    }
    EXPECT_EQ(mine.raw_data(), reinterpret_cast<std::byte*>(to));
    return absl::OkStatus();
  }

 private:
  std::vector<std::vector<double>> others_;
};

struct Moments {
  double mean = 0, variance = 0;
};

// In two passes over all elements, in long double.
Moments Reference(const std::vector<double>& x) {
  long double mean = 0, squares = 0;
  for (double value : x) mean += value;
  mean /= (long double)(x.size());
  for (double value : x) squares += (value - mean) * (value - mean);
  return {double(mean), x.empty() ? 0 : double(squares / (long double)(x.size()))};
}

const Device kDevices[] = {Device::Cpu(), Device::Simulated(0)};

// The statistics that the last of some ranks has after the exchange, one channel each.
Moments Combined(const std::vector<std::vector<double>>& parts, int64_t* count = nullptr) {
  std::vector<std::vector<double>> others;
  for (size_t i = 0; i + 1 < parts.size(); ++i) {
    const Moments moments = parts[i].empty() ? Moments{} : Reference(parts[i]);
    others.push_back({double(parts[i].size()), moments.mean, moments.variance});
  }
  const Moments own = parts.back().empty() ? Moments{} : Reference(parts.back());
  Moments combined;
  for (const Device device : kDevices) {
    const auto context = *DeviceContext::Create(device);
    LastRank rank(others);
    const auto shared = SharedStatistics::Create(rank, *context, 1, DType::kFloat64).value();
    const BatchStatistics statistics = {
        *ToDevice(*context, TensorOf(DType::kFloat64, {1}, {own.mean})),
        *ToDevice(*context, TensorOf(DType::kFloat64, {1}, {own.variance}))};
    EXPECT_TRUE(shared->Combine(int64_t(parts.back().size()), statistics).ok());
    if (count != nullptr) *count = shared->count();
    const Moments result = {Values(*ToHost(*context, statistics.mean))[0],
                            Values(*ToHost(*context, statistics.variance))[0]};
    if (device == kDevices[0]) combined = result;
    EXPECT_EQ(result.mean, combined.mean);
    EXPECT_EQ(result.variance, combined.variance);
  }
  return combined;
}

TEST(SharedStatisticsTest, SmallIntegersAreExact) {
  int64_t count = 0;
  const Moments two = Combined({{1, 3}, {5, 7}}, &count);
  EXPECT_EQ(count, 4);
  EXPECT_EQ(two.mean, 4);
  EXPECT_EQ(two.variance, 5);
  const Moments unequal = Combined({{0}, {4, 4, 4}}, &count);
  EXPECT_EQ(count, 4);
  EXPECT_EQ(unequal.mean, 3);
  EXPECT_EQ(unequal.variance, 3);
}

TEST(SharedStatisticsTest, ARankWithoutElementsAddsNothing) {
  for (const auto& parts : std::vector<std::vector<std::vector<double>>>{
           {{}, {1, 3}, {5, 7}}, {{1, 3}, {}, {5, 7}}, {{1, 3}, {5, 7}, {}}}) {
    int64_t count = 0;
    const Moments moments = Combined(parts, &count);
    EXPECT_EQ(count, 4);
    EXPECT_EQ(moments.mean, 4);
    EXPECT_EQ(moments.variance, 5);
  }
}

// The mean of squares less the square of the mean would lose every digit of the variance.
TEST(SharedStatisticsTest, UnequalSharesFarFromZeroKeepTheirDigits) {
  for (const double offset : {0.0, 1e4, 1e9}) {
    std::vector<std::vector<double>> parts;
    std::vector<double> all;
    for (size_t size : {7, 1, 33, 2}) {
      parts.emplace_back();
      for (size_t i = 0; i < size; ++i) {
        const double value = offset + std::sin(double(3 * all.size() * all.size() + 1));
        parts.back().push_back(value);
        all.push_back(value);
      }
    }
    const Moments moments = Combined(parts), reference = Reference(all);
    EXPECT_NEAR(moments.mean, reference.mean, 1e-15 * (1 + offset));
    // Means are rounded to offset * epsilon, apart from each other by some tenths.
    EXPECT_NEAR(moments.variance, reference.variance, 1e-15 * (1 + offset));
  }
}

TEST(SharedStatisticsTest, SumsLeaveTheRanksOwnGradientsAlone) {
  for (const Device device : kDevices) {
    const auto context = *DeviceContext::Create(device);
    LastRank rank({{1, 2, 30, 40}, {100, 200, 3000, 4000}});
    const auto shared = SharedStatistics::Create(rank, *context, 2, DType::kFloat64).value();
    const BatchNormGradients mine = {*ToDevice(*context, TensorOf(DType::kFloat64, {2}, {5, 6})),
                                     *ToDevice(*context, TensorOf(DType::kFloat64, {2}, {7, 8}))};
    const BatchNormGradients sums = shared->Sum(mine).value();
    const auto values = [&](const Tensor& tensor) { return Values(*ToHost(*context, tensor)); };
    EXPECT_EQ(values(sums.gamma), (std::vector<double>{106, 208}));
    EXPECT_EQ(values(sums.beta), (std::vector<double>{3037, 4048}));
    EXPECT_EQ(values(mine.gamma), (std::vector<double>{5, 6}));
    EXPECT_EQ(values(mine.beta), (std::vector<double>{7, 8}));
  }
}

}  // namespace
}  // namespace dtnn
