#include "comm/secrets/sums/encrypted_all_reduce.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "comm/local.h"
#include "comm/testing/passing_communicator.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/status_macros.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;
using testing::RandomTensor;
using testing::Values;

// The smallest degree with the default scale: chunks are 4096 numbers.
constexpr ckks::CkksParameters kSmall = {.log2_degree = 12};
constexpr int64_t kChunk = 4096;

Secret Key(uint8_t first) {
  Secret key;
  key.bytes()[0] = first;
  return key;
}

absl::Status Sum(Communicator& c, const Tensor& tensor, const Secret& key = Key(1),
                 const ckks::CkksParameters& parameters = kSmall) {
  DTNN_ASSIGN_OR_RETURN(const auto sum, EncryptedAllReduce::Create(c, parameters, key));
  return sum->Sum(tensor);
}

// The status on each rank.
std::vector<absl::Status> Ends(int ranks, absl::FunctionRef<absl::Status(Communicator&)> body) {
  std::vector<absl::Status> ends(static_cast<size_t>(ranks));
  (void)RunRanks(ranks, [&](Communicator& c) { return ends[size_t(c.rank())] = body(c); });
  return ends;
}

// Passes everything on to another; changes a byte of one of the messages between two ranks.
class TamperingCommunicator : public testing::PassingCommunicator {
 public:
  TamperingCommunicator(Communicator& inner, int message)
      : PassingCommunicator(inner), left_(message) {}

 protected:
  std::unique_ptr<Work> Start(const Collective& call) override {
    if (call.kind == CollectiveKind::kSend && left_-- == 0) {
      // A copy: another rank may still read the same numbers, from an earlier message.
      changed_ = *Tensor::Zeros(DType::kUint8, call.input.shape());
      std::copy_n(call.input.data<uint8_t>(), changed_.num_elements(), changed_.data<uint8_t>());
      changed_.data<uint8_t>()[changed_.num_elements() / 2] ^= 1;
      Collective changed = call;
      changed.input = changed.output = changed_;
      return PassingCommunicator::Start(changed);
    }
    return PassingCommunicator::Start(call);
  }

 private:
  int left_;
  Tensor changed_;
};

TEST(EncryptedAllReduceTest, IsTheSumWithTheSameBitsOnAllRanks) {
  for (const int ranks : {1, 2, 3, 5}) {
    for (const int64_t elements :
         {int64_t{0}, int64_t{1}, kChunk - 1, kChunk, kChunk + 1, 3 * kChunk, 21 * kChunk + 7}) {
      SCOPED_TRACE(std::to_string(ranks) + " ranks, " + std::to_string(elements));
      std::vector<Tensor> tensors;
      std::vector<double> exact(static_cast<size_t>(elements));
      for (int rank = 0; rank < ranks; ++rank) {
        tensors.push_back(RandomTensor(DType::kFloat32, {elements}, uint64_t(rank + 1)));
        const std::vector<double> values = Values(tensors.back());
        for (size_t i = 0; i < exact.size(); ++i) exact[i] += values[i];
      }
      const absl::Status status =
          RunRanks(ranks, [&](Communicator& c) { return Sum(c, tensors[size_t(c.rank())]); });
      ASSERT_TRUE(status.ok()) << status;
      const std::vector<double> sums = Values(tensors[0]);
      for (size_t i = 0; i < exact.size(); ++i) {
        ASSERT_NEAR(sums[i], exact[i], 64 * ranks * 0x1p-40 + std::abs(exact[i]) * 0x1p-24) << i;
      }
      for (const Tensor& other : tensors) EXPECT_EQ(Values(other), sums);
    }
  }
}

// Gaps between parameters and what never has a gradient must not collect noise from step to step.
TEST(EncryptedAllReduceTest, ZerosStayZeros) {
  for (const int ranks : {2, 3, 4, 6}) {
    const absl::Status status = RunRanks(ranks, [](Communicator& c) -> absl::Status {
      DTNN_ASSIGN_OR_RETURN(const auto sum, EncryptedAllReduce::Create(c, kSmall, Key(1)));
      DTNN_ASSIGN_OR_RETURN(const Tensor zeros, Tensor::Zeros(DType::kFloat32, {20 * kChunk}));
      DTNN_RETURN_IF_ERROR(sum->Sum(zeros));
      EXPECT_EQ(std::ranges::count(Values(zeros), 0.0), zeros.num_elements());
      return absl::OkStatus();
    });
    EXPECT_TRUE(status.ok()) << status;
  }
}

TEST(EncryptedAllReduceTest, OneIsForTensorsOfAllSizes) {
  const absl::Status status = RunRanks(3, [](Communicator& c) -> absl::Status {
    DTNN_ASSIGN_OR_RETURN(const auto sum, EncryptedAllReduce::Create(c, kSmall, Key(1)));
    for (const int64_t elements : {3 * kChunk, int64_t{2}, 9 * kChunk}) {
      DTNN_ASSIGN_OR_RETURN(const Tensor ones, Tensor::Zeros(DType::kFloat32, {elements}));
      std::fill_n(ones.data<float>(), elements, 1.0f);
      DTNN_RETURN_IF_ERROR(sum->Sum(ones));
      for (const double value : Values(ones)) EXPECT_EQ(value, 3);
    }
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status;
}

TEST(EncryptedAllReduceTest, SmallNumbersKeepTheirDigits) {
  const absl::Status status = RunRanks(2, [](Communicator& c) -> absl::Status {
    const Tensor tensor = RandomTensor(DType::kFloat32, {kChunk}, 7);
    for (int64_t i = 0; i < kChunk; ++i) tensor.data<float>()[i] *= 1e-6f;
    const std::vector<double> before = Values(tensor);
    DTNN_RETURN_IF_ERROR(Sum(c, tensor));
    const std::vector<double> after = Values(tensor);
    double squares = 0;
    int finer = 0;
    for (size_t i = 0; i < before.size(); ++i) {
      squares += std::pow(after[i] - 2 * before[i], 2);
      EXPECT_EQ(after[i] * 0x1p33, std::rint(after[i] * 0x1p33)) << "rounded to multiples of 2^-33";
      finer += after[i] * 0x1p32 != std::rint(after[i] * 0x1p32);
    }
    EXPECT_GT(finer, 0);
    const double deviation = std::sqrt(squares / double(before.size()));
    EXPECT_LT(deviation, 5e-11);
    EXPECT_GT(deviation, 1e-13) << "nothing was encrypted";
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status;
}

TEST(EncryptedAllReduceTest, AnotherKeyIsNamedOnAllRanks) {
  const std::vector<absl::Status> ends = Ends(3, [](Communicator& c) {
    return Sum(c, RandomTensor(DType::kFloat32, {10}, 1), Key(c.rank() == 1 ? 2 : 1));
  });
  for (const absl::Status& end : ends) {
    EXPECT_TRUE(absl::IsInvalidArgument(end)) << end;
    EXPECT_THAT(std::string(end.message()), HasSubstr("rank 1 has another key than rank 0"));
  }
}

TEST(EncryptedAllReduceTest, OtherParametersAreNamedOnAllRanks) {
  const std::vector<absl::Status> ends = Ends(3, [](Communicator& c) {
    return Sum(c, RandomTensor(DType::kFloat32, {10}, 1), Key(1),
               {.log2_degree = c.rank() == 2 ? 13 : 12});
  });
  for (const absl::Status& end : ends) {
    EXPECT_TRUE(absl::IsInvalidArgument(end)) << end;
    EXPECT_THAT(std::string(end.message()),
                HasSubstr("rank 2 has other parameters of encryption than rank 0"));
  }
}

// Nobody leaves: all ranks continue together, as those of a run do to agree on what follows.
TEST(EncryptedAllReduceTest, ARankThatCannotGoOnIsNamedOnAllRanks) {
  const std::vector<absl::Status> ends = Ends(3, [](Communicator& c) {
    const absl::Status end =
        EncryptedAllReduce::Create(c, {.log2_degree = c.rank() == 1 ? 10 : 12}, Key(1)).status();
    EXPECT_TRUE(c.Barrier().ok());
    return end;
  });
  for (const absl::Status& end : ends) {
    EXPECT_TRUE(absl::IsInvalidArgument(end)) << end;
    EXPECT_THAT(std::string(end.message()), HasSubstr("encrypted sums of ranks: rank 1: "));
    EXPECT_EQ(end, ends[0]);
  }
}

TEST(EncryptedAllReduceTest, WhatCannotBeSummedEndsAllRanksAndNamesTheOne) {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity(), 2e5f}) {
    const std::vector<absl::Status> ends = Ends(3, [&](Communicator& c) {
      const Tensor tensor = RandomTensor(DType::kFloat32, {3 * kChunk}, 1);
      if (c.rank() == 1) tensor.data<float>()[2 * kChunk + 5] = bad;
      return Sum(c, tensor);
    });
    for (const absl::Status& end : ends) {
      EXPECT_TRUE(absl::IsOutOfRange(end)) << end;
      EXPECT_THAT(std::string(end.message()), HasSubstr("encrypted sum: rank 1 cannot encode"));
    }
  }
}

TEST(EncryptedAllReduceTest, AChangedMessageEndsAllRanksAndNamesItsSender) {
  // With three chunks each rank sends its numbers to two others, then its sum.
  for (const int message : {0, 1, 2, 3}) {
    const std::vector<absl::Status> ends = Ends(3, [&](Communicator& c) {
      const Tensor tensor = RandomTensor(DType::kFloat32, {3 * kChunk}, 1);
      TamperingCommunicator tampering(c, c.rank() == 1 ? message : -1);
      DTNN_RETURN_IF_ERROR(Sum(tampering, tensor));
      return c.Barrier();  // of ranks that got an unchanged sum
    });
    for (const absl::Status& end : ends) {
      EXPECT_FALSE(end.ok()) << message;
      EXPECT_THAT(
          std::string(end.message()),
          HasSubstr(message < 2 ? "refuses what came from rank 1" : "refuses the sum of rank 1"));
    }
  }
}

// Passes everything on; sends the first message that was recorded in place of the one of that
// number.
class ReplayingCommunicator : public testing::PassingCommunicator {
 public:
  ReplayingCommunicator(Communicator& inner, std::vector<Tensor>& recorded, int number)
      : PassingCommunicator(inner), recorded_(recorded), left_(number) {}

 protected:
  std::unique_ptr<Work> Start(const Collective& call) override {
    if (call.kind != CollectiveKind::kSend) return PassingCommunicator::Start(call);
    recorded_.push_back(*Tensor::Zeros(DType::kUint8, call.input.shape()));
    std::copy_n(call.input.data<uint8_t>(), call.input.num_elements(),
                recorded_.back().data<uint8_t>());
    Collective sent = call;
    if (left_-- == 0) sent.input = sent.output = recorded_.front();
    return PassingCommunicator::Start(sent);
  }

 private:
  std::vector<Tensor>& recorded_;
  int left_;
};

// With the same key and numbers. In each of two calls rank 1 sends numbers, and rank 0 the sum.
TEST(EncryptedAllReduceTest, RecordedMessagesAreRefused) {
  for (const int replaying : {0, 1}) {
    std::vector<Tensor> recorded;
    // In the second call the message of the first one; then, in another run, that of this run.
    for (const int number : {1, 0}) {
      const std::vector<absl::Status> ends = Ends(2, [&](Communicator& c) -> absl::Status {
        std::vector<Tensor> others;
        const bool replays = c.rank() == replaying;
        ReplayingCommunicator between(c, replays ? recorded : others, replays ? number : -1);
        DTNN_ASSIGN_OR_RETURN(const auto sum, EncryptedAllReduce::Create(between, kSmall, Key(1)));
        for (int call = 0; call < 2; ++call) {
          DTNN_RETURN_IF_ERROR(sum->Sum(RandomTensor(DType::kFloat32, {kChunk}, 1)));
        }
        return c.Barrier();  // of rank 0, where its sum is refused
      });
      EXPECT_EQ(recorded.size(), number == 1 ? 2u : 3u);
      for (const absl::Status& end : ends) {
        EXPECT_THAT(std::string(end.message()),
                    HasSubstr(replaying == 1 ? "refuses what came from rank 1"
                                             : "refuses the sum of rank 0"));
      }
    }
  }
}

TEST(EncryptedAllReduceTest, NumbersInSlotsHaveNoBoundOfTheirErrors) {
  const std::vector<absl::Status> ends = Ends(2, [](Communicator& c) {
    return EncryptedAllReduce::Create(c, {.log2_degree = 12, .packing = ckks::Packing::kSlots},
                                      Key(1))
        .status();
  });
  for (const absl::Status& end : ends) {
    EXPECT_EQ(end.message(),
              "encrypted sums of ranks: rank 0: numbers must be packed as coefficients, whose "
              "errors have a bound");
  }
}

TEST(EncryptedAllReduceTest, OnlyFloat32IsTaken) {
  const std::vector<absl::Status> ends =
      Ends(2, [](Communicator& c) { return Sum(c, RandomTensor(DType::kFloat64, {10}, 1)); });
  for (const absl::Status& end : ends) {
    EXPECT_THAT(std::string(end.message()), HasSubstr("expected dense float32"));
  }
}

TEST(EncryptedAllReduceTest, WhoLeavesIsNotWaitedFor) {
  const std::vector<absl::Status> ends = Ends(3, [](Communicator& c) -> absl::Status {
    DTNN_ASSIGN_OR_RETURN(const auto sum, EncryptedAllReduce::Create(c, kSmall, Key(1)));
    if (c.rank() == 2) return absl::CancelledError("leaves");
    return sum->Sum(RandomTensor(DType::kFloat32, {3 * kChunk}, 1));
  });
  for (const absl::Status& end : ends) {
    EXPECT_THAT(std::string(end.message()), HasSubstr("leaves")) << end;
  }
}

}  // namespace
}  // namespace dtnn
