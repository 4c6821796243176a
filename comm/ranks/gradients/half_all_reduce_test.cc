#include "comm/ranks/gradients/half_all_reduce.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "comm/local.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/status_macros.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;
using testing::RandomTensor;
using testing::TensorOf;
using testing::Values;

constexpr HalfType kTypes[] = {HalfType::kFloat16, HalfType::kBfloat16};

float Rounded(HalfType type, float x) {
  return type == HalfType::kFloat16 ? FromFloat16(ToFloat16(x * 256)) / 256
                                    : FromBfloat16(ToBfloat16(x));
}

absl::Status Sum(Communicator& c, HalfType type, const Tensor& tensor) {
  DTNN_ASSIGN_OR_RETURN(const auto sum, HalfAllReduce::Create(c, type, tensor.num_elements()));
  DTNN_RETURN_IF_ERROR(sum->Begin(tensor));
  return sum->Finish();
}

// Rounded, added in float32 in the order of ranks, rounded: on all ranks, whatever the size.
TEST(HalfAllReduceTest, EveryBitIsAsTheHeaderSays) {
  for (const HalfType type : kTypes) {
    for (const int ranks : {1, 2, 3, 4, 6}) {
      for (const int64_t elements : {1, 2, 5, 1000, 5003}) {
        for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
          std::vector<Tensor> inputs;
          std::vector<double> expected(static_cast<size_t>(elements));
          for (int rank = 0; rank < ranks; ++rank) {
            inputs.push_back(RandomTensor(dtype, {elements}, uint64_t(rank + 1)));
          }
          for (int64_t i = 0; i < elements; ++i) {
            float sum = 0;
            for (int rank = 0; rank < ranks; ++rank) {
              const float next = Rounded(type, float(Values(inputs[size_t(rank)])[size_t(i)]));
              sum = rank == 0 ? next : sum + next;
            }
            expected[size_t(i)] = Rounded(type, sum);
            if (i == 20) i = std::max(i, elements - 20);  // Values copies
          }
          const absl::Status status = RunRanks(ranks, [&](Communicator& c) -> absl::Status {
            const Tensor& mine = inputs[size_t(c.rank())];
            DTNN_RETURN_IF_ERROR(Sum(c, type, mine));
            const std::vector<double> values = Values(mine);
            for (size_t i = 0; i < values.size(); ++i) {
              if (i > 20 && i < values.size() - 19) continue;
              EXPECT_EQ(values[i], expected[i]) << ranks << " ranks, element " << i;
            }
            return absl::OkStatus();
          });
          ASSERT_TRUE(status.ok()) << status;
          for (const Tensor& other : inputs) EXPECT_EQ(Values(other), Values(inputs[0]));
        }
      }
    }
  }
}

TEST(HalfAllReduceTest, TheErrorStaysBelowItsBound) {
  constexpr int kRanks = 4;
  for (const HalfType type : kTypes) {
    const double epsilon = type == HalfType::kFloat16 ? 0x1p-11 : 0x1p-8;
    for (const float size : {1.0f, 1e-3f, 1e-6f}) {
      std::vector<Tensor> inputs;
      std::vector<double> exact(1000), magnitudes(1000);
      for (int rank = 0; rank < kRanks; ++rank) {
        inputs.push_back(RandomTensor(DType::kFloat32, {1000}, uint64_t(rank + 7)));
        for (size_t i = 0; i < exact.size(); ++i) {
          float& x = inputs.back().data<float>()[i];
          x *= size;
          exact[i] += x;
          magnitudes[i] += std::abs(x);
        }
      }
      ASSERT_TRUE(RunRanks(kRanks, [&](Communicator& c) {
                    return Sum(c, type, inputs[size_t(c.rank())]);
                  }).ok());
      for (size_t i = 0; i < exact.size(); ++i) {
        // Half a unit in the last place of each number, and of the sum; below 2.4e-7 float16's unit
        // is 2^-32.
        ASSERT_NEAR(inputs[0].data<float>()[i], exact[i],
                    epsilon * 1.01 * (magnitudes[i] + std::abs(exact[i])) + (kRanks + 1) * 0x1p-33);
      }
    }
  }
}

TEST(HalfAllReduceTest, WhatIsNoNumberStaysVisible) {
  for (const HalfType type : kTypes) {
    for (const float none : {std::numeric_limits<float>::quiet_NaN(),
                             std::numeric_limits<float>::infinity(), -HUGE_VALF}) {
      const absl::Status status = RunRanks(3, [&](Communicator& c) -> absl::Status {
        const Tensor mine = TensorOf(DType::kFloat32, {5}, {1, 2, 3, 4, 5});
        if (c.rank() == 1) mine.data<float>()[3] = none;
        DTNN_RETURN_IF_ERROR(Sum(c, type, mine));
        const float* const values = mine.data<float>();
        EXPECT_EQ(values[2], 9);
        EXPECT_FALSE(std::isfinite(values[3]));
        EXPECT_EQ(std::isnan(values[3]), std::isnan(none));
        EXPECT_EQ(values[4], 15);
        return absl::OkStatus();
      });
      ASSERT_TRUE(status.ok()) << status;
    }
  }
}

// No rank continues with an infinity that nobody computed.
TEST(HalfAllReduceTest, ANumberThatIsTooLargeEndsAllRanks) {
  for (const bool in_sum : {false, true}) {
    const absl::Status status = RunRanks(2, [&](Communicator& c) -> absl::Status {
      const Tensor mine = TensorOf(DType::kFloat32, {4}, {1, 1, 1, 1});
      if (in_sum || c.rank() == 1) mine.data<float>()[0] = in_sum ? 200 : -256;
      const absl::Status ended = Sum(c, HalfType::kFloat16, mine);
      EXPECT_EQ(ended.code(), absl::StatusCode::kFailedPrecondition) << ended;
      EXPECT_THAT(std::string(ended.message()),
                  HasSubstr(in_sum ? "a sum of gradients is too large for float16"
                                   : "a gradient is too large for float16"));
      EXPECT_EQ(mine.data<float>()[1], 1) << "not written";
      return ended;
    });
    EXPECT_FALSE(status.ok());
  }
  EXPECT_TRUE(RunRanks(2, [&](Communicator& c) {
                const Tensor mine = TensorOf(DType::kFloat32, {1}, {127.9});
                return Sum(c, HalfType::kFloat16, mine);
              }).ok());
}

// Where the scale, or the conversion to float32, makes it infinite before it is rounded.
TEST(HalfAllReduceTest, AFiniteNumberBecomesNoInfinityWhateverItsSize) {
  const struct {
    HalfType type;
    DType dtype;
    double number;
    const char* what;
  } cases[] = {
      {HalfType::kFloat16, DType::kFloat32, 2e36, "a gradient"},
      {HalfType::kFloat16, DType::kFloat64, -1e39, "a gradient"},
      {HalfType::kBfloat16, DType::kFloat64, 1e39, "a gradient"},
      {HalfType::kBfloat16, DType::kFloat32, 3e38, "a sum of gradients"},
      {HalfType::kBfloat16, DType::kFloat32, -3e38, "a sum of gradients"},
  };
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const auto& c : cases) {
    SCOPED_TRACE(::testing::Message() << c.number);
    const absl::Status status = RunRanks(2, [&](Communicator& ranks) {
      return Sum(ranks, c.type, TensorOf(c.dtype, {4}, {1, kInfinity, 1, c.number}));
    });
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(status.message()), HasSubstr(std::string(c.what) + " is too large"));
  }
}

TEST(HalfAllReduceTest, OtherTensorsAreRefused) {
  const absl::Status status = RunRanks(1, [&](Communicator& c) -> absl::Status {
    EXPECT_FALSE(HalfAllReduce::Create(c, HalfType::kBfloat16, 0).ok());
    DTNN_ASSIGN_OR_RETURN(const auto sum, HalfAllReduce::Create(c, HalfType::kBfloat16, 4));
    EXPECT_EQ(sum->Begin(testing::ZeroTensor(DType::kFloat32, {5})).code(),
              absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(sum->Begin(testing::ZeroTensor(DType::kInt32, {4})).code(),
              absl::StatusCode::kInvalidArgument);
    const Tensor wide = testing::ZeroTensor(DType::kFloat32, {1, 2, 2, 2});
    EXPECT_EQ(sum->Begin(wide.Channels(0, 1, TensorFormat::kNHWC)).code(),
              absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(sum->Begin(testing::ZeroTensor(DType::kFloat32, {2, 2})), absl::OkStatus());
    return absl::OkStatus();
  });
  ASSERT_TRUE(status.ok()) << status;
}

}  // namespace
}  // namespace dtnn
