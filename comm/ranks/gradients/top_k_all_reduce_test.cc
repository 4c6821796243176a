#include "comm/ranks/gradients/top_k_all_reduce.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "comm/gather_values.h"
#include "comm/local.h"
#include "comm/ranks/gradients/top_k_threshold.h"
#include "comm/testing/passing_communicator.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/status_macros.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;
using testing::IntegerTensor;
using testing::RandomTensor;
using testing::Values;
using testing::ZeroTensor;

constexpr int64_t kElements = 5003;

using Vector = std::vector<double>;

// Gradients of so many ranks in one step: integers, whose sums are exact, most of them small.
Vector Gradients(int rank, int step) {
  const uint64_t seed = uint64_t(100 * step + rank + 1);
  const Vector integers = Values(IntegerTensor(DType::kFloat32, {kElements}, seed, 100));
  Vector gradients;
  for (const double x : integers) gradients.push_back(std::round(x * x * x / 10000));
  return gradients;
}

Tensor ToTensor(const Vector& values) {
  return testing::TensorOf(DType::kFloat32, {int64_t(values.size())}, values);
}

// What a rank is left with after some steps.
struct Outcome {
  Vector result, residual;
  std::vector<TopKAllReduce::Volume> volumes;
  std::vector<double> state;
};

// Steps `from` to `to`, the last included; every rank continues from `before`, where given.
std::vector<Outcome> RunSteps(int ranks, const TopKOptions& options, int from, int to,
                              const std::vector<Outcome>& before = {},
                              const std::function<Vector(int rank, int step)>& input = Gradients) {
  std::vector<Outcome> outcomes(static_cast<size_t>(ranks));
  const absl::Status status = RunRanks(ranks, [&](Communicator& c) -> absl::Status {
    Outcome& mine = outcomes[size_t(c.rank())];
    const auto elements = int64_t(input(0, from).size());
    DTNN_ASSIGN_OR_RETURN(TopKAllReduce sum, TopKAllReduce::Create(c, options, elements));
    Tensor residual = ZeroTensor(DType::kFloat32, {elements});
    if (!before.empty()) {
      residual = ToTensor(before[size_t(c.rank())].residual);
      DTNN_RETURN_IF_ERROR(sum.SetState(before[size_t(c.rank())].state));
    }
    for (int step = from; step <= to; ++step) {
      const Vector given = input(c.rank(), step), left = Values(residual);
      const Tensor gradients = ToTensor(given);
      DTNN_RETURN_IF_ERROR(sum.Run(gradients, residual, 1, step));
      mine.result = Values(gradients);
      mine.volumes.push_back(sum.volume());
    }
    mine.residual = Values(residual);
    DTNN_ASSIGN_OR_RETURN(mine.state, sum.GatherState());
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status;
  for (const Outcome& outcome : outcomes) {
    // NaN too.
    EXPECT_EQ(std::memcmp(outcome.result.data(), outcomes[0].result.data(),
                          outcome.result.size() * sizeof(double)),
              0);
  }
  return outcomes;
}

// The first step, by the definition: no residuals, exact thresholds.
Vector FirstStep(int ranks, int64_t k) {
  const auto threshold = [&](const Vector& values) {
    std::vector<float> numbers(values.begin(), values.end());
    return TopKThreshold(numbers, k);
  };
  std::map<size_t, float> sums;
  for (int rank = 0; rank < ranks; ++rank) {
    const Vector gradients = Gradients(rank, 1);
    const uint32_t least = threshold(gradients);
    for (size_t i = 0; i < gradients.size(); ++i) {
      if (Magnitude(float(gradients[i])) >= least) sums[i] += float(gradients[i]);
    }
  }
  Vector reduced;
  for (const auto& [place, sum] : sums) reduced.push_back(sum);
  const uint32_t least = threshold(reduced);
  Vector result(kElements);
  for (const auto& [place, sum] : sums) {
    if (Magnitude(sum) >= least) result[place] = sum;
  }
  return result;
}

TEST(TopKAllReduceTest, TheFirstStepIsTheDefinition) {
  for (int ranks = 1; ranks <= 8; ++ranks) {
    for (const double density : {0.0001, 0.01, 0.3, 1.0}) {
      const auto outcomes = RunSteps(ranks, {.density = density}, 1, 1);
      const int64_t k = std::max<int64_t>(1, std::llround(density * kElements));
      EXPECT_EQ(outcomes[0].result, FirstStep(ranks, k)) << ranks << " ranks, " << density;
    }
  }
}

// After every step: all results so far and all residuals are all gradients so far.
TEST(TopKAllReduceTest, NothingIsLost) {
  for (int ranks = 1; ranks <= 8; ++ranks) {
    const TopKOptions options = {.density = 0.01, .tau = 5, .tau_prime = 3};
    Vector applied(kElements), given(kElements);
    std::vector<Outcome> now;
    for (int step = 1; step <= 40; ++step) {
      now = RunSteps(ranks, options, step, step, now);
      Vector residuals(kElements);
      for (size_t i = 0; i < applied.size(); ++i) {
        applied[i] += now[0].result[i];
        for (const Outcome& outcome : now) residuals[i] += outcome.residual[i];
      }
      for (int rank = 0; rank < ranks; ++rank) {
        const Vector gradients = Gradients(rank, step);
        for (size_t i = 0; i < given.size(); ++i) given[i] += gradients[i];
      }
      for (size_t i = 0; i < given.size(); ++i) {
        ASSERT_EQ(applied[i] + residuals[i], given[i]) << ranks << " ranks, step " << step;
      }
    }
  }
}

TEST(TopKAllReduceTest, ADensityOfOneIsTheSumOfAll) {
  for (int ranks = 1; ranks <= 8; ++ranks) {
    for (int step = 1; step <= 3; ++step) {
      const auto outcomes = RunSteps(ranks, {.density = 1, .tau_prime = 2}, 1, step);
      Vector sums(kElements);
      for (int rank = 0; rank < ranks; ++rank) {
        const Vector gradients = Gradients(rank, step);
        for (size_t i = 0; i < sums.size(); ++i) sums[i] += gradients[i];
      }
      EXPECT_EQ(outcomes[0].result, sums);
      for (const Outcome& outcome : outcomes) EXPECT_EQ(outcome.residual, Vector(kElements));
    }
  }
}

// Thresholds that are used again select about as much, also where residuals grow.
TEST(TopKAllReduceTest, TheVolumeStaysNearTheDensity) {
  constexpr int64_t kMany = 40000;
  const auto input = [](int rank, int step) {
    return Values(RandomTensor(DType::kFloat32, {kMany}, uint64_t(100 * step + rank + 1)));
  };
  const double k = 0.01 * kMany;
  for (const int ranks : {2, 4, 5}) {
    const auto outcomes = RunSteps(ranks, {.density = 0.01}, 1, 70, {}, input);
    double sent = 0;
    int64_t results = 0;
    for (const Outcome& outcome : outcomes) {
      for (size_t step = 0; step < outcome.volumes.size(); ++step) {
        const auto& volume = outcome.volumes[step];
        EXPECT_GE(volume.selected, k / 2);
        EXPECT_LE(volume.selected, 2 * k);
        EXPECT_LE(volume.result, 2 * k);
        EXPECT_EQ(volume.result, outcomes[0].volumes[step].result);
        sent += double(volume.bytes_sent);
        results += volume.result;
      }
    }
    EXPECT_GE(results, 70 * ranks * int64_t(k) / 2);
    // Entries of 8 bytes: selected ones once, the result (P-1)/P of it to all, twice where it is
    // balanced first; each at most twice k.
    const double mean = sent / (70 * ranks);
    EXPECT_LT(mean, 8 * 2 * k * (1 + 2.0) * (ranks - 1) / ranks * 1.5) << ranks;
    EXPECT_GT(mean, 8 * k / 2 * (ranks - 1) / ranks) << ranks;
    // All of it is less than a tenth of an all-reduce.
    EXPECT_LT(mean, 0.1 * 2 * 4 * kMany * (ranks - 1) / ranks) << ranks;
  }
}

// Notes what it sends to other ranks beside lists of gradients.
class CountingCommunicator : public testing::PassingCommunicator {
 public:
  using PassingCommunicator::PassingCommunicator;
  int64_t numbers() const { return numbers_; }

 protected:
  std::unique_ptr<Work> Start(const Collective& call) override {
    if (call.kind == CollectiveKind::kAllGather) {
      numbers_ += call.input.num_elements() * (size() - 1);
    } else if (call.kind == CollectiveKind::kAllToAll) {
      numbers_ += size() - 1;
    }
    return PassingCommunicator::Start(call);
  }

 private:
  int64_t numbers_ = 0;
};

// Between two cuts a rank sends every other rank how many of its values that one gets, and how many
// sums it has.
TEST(TopKAllReduceTest, OtherRanksGetOnlyTheNumbersThatTheyNeed) {
  for (int ranks = 2; ranks <= 8; ++ranks) {
    const absl::Status status = RunRanks(ranks, [&](Communicator& inner) -> absl::Status {
      CountingCommunicator c(inner);
      const TopKOptions options = {.density = 0.05, .tau_prime = 1};
      DTNN_ASSIGN_OR_RETURN(TopKAllReduce sum, TopKAllReduce::Create(c, options, kElements));
      const Tensor residual = ZeroTensor(DType::kFloat32, {kElements});
      DTNN_RETURN_IF_ERROR(sum.Run(ToTensor(Gradients(c.rank(), 1)), residual, 1, 1));
      const int64_t before = c.numbers();
      DTNN_RETURN_IF_ERROR(sum.Run(ToTensor(Gradients(c.rank(), 2)), residual, 1, 2));
      EXPECT_EQ(c.numbers() - before, 2 * (ranks - 1));
      return absl::OkStatus();
    });
    ASSERT_TRUE(status.ok()) << status;
  }
}

// All that is large lies in one place: one region has it until regions are cut, and one rank the
// sums, which are then divided among all.
TEST(TopKAllReduceTest, UnevenGradientsAreDividedEvenly) {
  const auto input = [](int rank, int step) {
    Vector gradients(kElements);
    const size_t begin = step < 3 ? 0 : 4000;
    for (size_t i = 0; i < 400; ++i) gradients[begin + i] = double(1 + rank + int(i % 7));
    return gradients;
  };
  const TopKOptions options = {.density = 0.05, .tau = 8, .tau_prime = 1};
  std::vector<int64_t> most;
  for (const int last : {2, 3, 9}) {
    const auto outcomes = RunSteps(6, options, 1, last, {}, input);
    int64_t sent = 0, sum = 0;
    for (const Outcome& outcome : outcomes) {
      sent = std::max(sent, outcome.volumes.back().bytes_sent);
      sum += outcome.volumes.back().bytes_sent;
    }
    EXPECT_GT(sent, 0);
    // No rank sends much more than the others.
    EXPECT_LT(double(sent), 3.0 * double(sum) / 6) << last;
  }
}

TEST(TopKAllReduceTest, AResumedRunContinuesBitForBit) {
  const TopKOptions options = {.density = 0.02, .tau = 7, .tau_prime = 5};
  const auto input = [](int rank, int step) {
    return Values(RandomTensor(DType::kFloat32, {kElements}, uint64_t(100 * step + rank + 1)));
  };
  for (const int ranks : {1, 2, 5}) {
    const auto whole = RunSteps(ranks, options, 1, 20, {}, input);
    for (const int until : {1, 7, 12}) {
      const auto first = RunSteps(ranks, options, 1, until, {}, input);
      const auto rest = RunSteps(ranks, options, until + 1, 20, first, input);
      for (size_t rank = 0; rank < whole.size(); ++rank) {
        EXPECT_EQ(rest[rank].result, whole[rank].result) << ranks << " ranks, after " << until;
        EXPECT_EQ(rest[rank].residual, whole[rank].residual);
      }
    }
  }
}

TEST(TopKAllReduceTest, AStateThatCannotBeIsRefused) {
  const auto good = RunSteps(2, {}, 1, 1)[0].state;
  const absl::Status status = RunRanks(2, [&](Communicator& c) -> absl::Status {
    DTNN_ASSIGN_OR_RETURN(TopKAllReduce sum, TopKAllReduce::Create(c, {}, kElements));
    EXPECT_TRUE(sum.SetState(good).ok());
    EXPECT_TRUE(sum.SetState({}).ok());
    EXPECT_TRUE(sum.SetState(std::vector<double>{3, 1, 1, 1, 1}).ok()) << "of other ranks";
    for (size_t i = 1; i < good.size(); ++i) {
      for (const double wrong : {-1.0, 0.5, 1e18, std::nan("")}) {
        std::vector<double> bad = good;
        bad[i] = wrong;
        EXPECT_EQ(sum.SetState(bad).code(), absl::StatusCode::kInvalidArgument) << i;
      }
    }
    EXPECT_FALSE(sum.SetState(std::span(good).first(good.size() - 1)).ok());
    return absl::OkStatus();
  });
  ASSERT_TRUE(status.ok()) << status;
}

TEST(TopKAllReduceTest, WhatIsNoNumberReachesAllRanksAtOnce) {
  for (const double none : {std::nan(""), HUGE_VAL}) {
    const auto outcomes = RunSteps(3, {.density = 0.001}, 1, 2, {}, [&](int rank, int step) {
      Vector gradients = Gradients(rank, step);
      if (rank == 1 && step == 2) gradients[4711] = none;
      return gradients;
    });
    EXPECT_EQ(std::isnan(outcomes[0].result[4711]), std::isnan(none));
    EXPECT_FALSE(std::isfinite(outcomes[0].result[4711]));
  }
}

TEST(TopKAllReduceTest, GradientsAreScaledBeforeTheyAreKept) {
  const absl::Status status = RunRanks(2, [&](Communicator& c) -> absl::Status {
    DTNN_ASSIGN_OR_RETURN(TopKAllReduce sum, TopKAllReduce::Create(c, {.density = 0.25}, 4));
    const Tensor residual = ZeroTensor(DType::kFloat32, {4});
    const Tensor gradients = ToTensor({1, 2, 3, 4});
    DTNN_RETURN_IF_ERROR(sum.Run(gradients, residual, 0.5, 1));
    EXPECT_EQ(Values(gradients), (Vector{0, 0, 0, 4}));
    EXPECT_EQ(Values(residual), (Vector{0.5, 1, 1.5, 0}));
    return absl::OkStatus();
  });
  ASSERT_TRUE(status.ok()) << status;
}

TEST(TopKAllReduceTest, OptionsAndElementsHaveTheirRanges) {
  const absl::Status status = RunRanks(1, [&](Communicator& c) -> absl::Status {
    const auto refusal = [&](const TopKOptions& options, int64_t elements) {
      return std::string(TopKAllReduce::Create(c, options, elements).status().message());
    };
    EXPECT_EQ(refusal({.density = 1, .tau = 1, .tau_prime = 1}, 2147483647), "");
    EXPECT_EQ(refusal({}, 2147483648),
              "a sparse sum of 2147483648 gradients; places of 4 bytes reach up to 2^31 - 1");
    for (const auto& [options, words] :
         {std::pair(TopKOptions{.density = 0, .tau = 2, .tau_prime = 3}, "0, tau 2 and tau' 3"),
          {{.density = 1.5, .tau = 2, .tau_prime = 3}, "1.5, tau 2 and tau' 3"},
          {{.density = 0.5, .tau = 0, .tau_prime = 3}, "0.5, tau 0 and tau' 3"},
          {{.density = 0.5, .tau = 2, .tau_prime = 0}, "0.5, tau 2 and tau' 0"}}) {
      EXPECT_EQ(refusal(options, 4), "a sparse sum of density " + std::string(words) +
                                         "; expected a density above 0 and up to 1, and 1 step or "
                                         "more");
    }
    return absl::OkStatus();
  });
  ASSERT_TRUE(status.ok()) << status;
}

// Rank 1 sends what no rank of this program would.
constexpr int64_t kFew = 10;

// What rank 0, whose gradients are zeros, says of a first step in which rank 1 does `other`.
std::string RefusalOf(const std::function<absl::Status(Communicator&)>& other) {
  std::string why;
  (void)RunRanks(2, [&](Communicator& c) -> absl::Status {
    if (c.rank() == 1) {
      DTNN_RETURN_IF_ERROR(other(c));
      return c.Barrier();
    }
    DTNN_ASSIGN_OR_RETURN(TopKAllReduce sum, TopKAllReduce::Create(c, {}, kFew));
    const absl::Status status =
        sum.Run(ZeroTensor(DType::kFloat32, {kFew}), ZeroTensor(DType::kFloat32, {kFew}), 1, 1);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    why = std::string(status.message());
    return absl::InternalError("ends the other rank too");
  });
  return why;
}

// As many gradients as places.
absl::Status SendPlaces(Communicator& c, const std::vector<int32_t>& places) {
  const Tensor message = ZeroTensor(DType::kUint8, {int64_t(places.size()) * 8});
  std::memcpy(message.raw_data(), places.data(), places.size() * sizeof(int32_t));
  return c.Send(message, 0);
}

// Rank 1 will send rank 0 so many.
absl::Status ExchangeCount(Communicator& c, int64_t count) {
  const Tensor sent = ZeroTensor(DType::kInt64, {2});
  *sent.data<int64_t>() = count;
  return c.AllToAll(sent, ZeroTensor(DType::kInt64, {2}));
}

TEST(TopKAllReduceTest, WhatAnotherRankSendsIsNotBelieved) {
  const auto refused = [](std::vector<int64_t> cuts, int64_t count, std::vector<int32_t> places) {
    return RefusalOf([&](Communicator& c) -> absl::Status {
      DTNN_RETURN_IF_ERROR(GatherValues<int64_t>(c, cuts).status());
      DTNN_RETURN_IF_ERROR(ExchangeCount(c, count));
      return SendPlaces(c, places);
    });
  };
  EXPECT_THAT(refused({0, -7}, 0, {1}), HasSubstr("rank 1 would cut 10 gradients at -7"));
  EXPECT_THAT(refused({0, int64_t{1} << 60}, 0, {1}), HasSubstr("rank 1 would cut"));
  EXPECT_THAT(refused({0, 11}, 0, {1}), HasSubstr("rank 1 would cut 10 gradients at 11"));
  // On average over the ranks: 5 and 2; 2 and 7.
  for (const std::vector<int64_t>& cuts : {std::vector<int64_t>{10, 0}, {5, 9}}) {
    EXPECT_EQ(refused(cuts, 0, {1}),
              "ranks would cut gradients at places that do not ascend from 0");
  }
  EXPECT_EQ(refused({0, 5}, 6, {1}), "rank 1 would send 6 gradients of a region of 5");
  EXPECT_THAT(refused({0, 5}, int64_t{1} << 60, {1}), HasSubstr("rank 1 would send 115"));
  EXPECT_THAT(refused({0, 5}, -1, {1}), HasSubstr("rank 1 would send -1 gradients"));
  for (const std::vector<int32_t>& places :
       std::vector<std::vector<int32_t>>{{5, 6}, {-1, 2}, {3, 3}, {4, 1}, {0, 1 << 30}}) {
    EXPECT_THAT(refused({0, 5}, 2, places), HasSubstr("another rank sent a gradient for"));
  }
}

// The sums of its region, which all ranks get.
TEST(TopKAllReduceTest, WhatAnotherRankHasSummedIsNotBelieved) {
  for (const std::vector<int32_t>& places :
       std::vector<std::vector<int32_t>>{{6, 6}, {8, 7}, {-1, 6}, {9, 10}, {6, 1 << 30}}) {
    const std::string why = RefusalOf([&](Communicator& c) -> absl::Status {
      DTNN_RETURN_IF_ERROR(GatherValues<int64_t>(c, std::vector<int64_t>{0, 5}).status());
      DTNN_RETURN_IF_ERROR(ExchangeCount(c, 0));
      DTNN_RETURN_IF_ERROR(GatherValues(c, int64_t(places.size())).status());
      return SendPlaces(c, places);
    });
    EXPECT_THAT(why, HasSubstr("another rank sent a gradient for")) << places[1];
  }
}

// Nor how many it has; rank 0 has summed `own` that rank 1 has sent it.
TEST(TopKAllReduceTest, NumbersOfSumsAreNotBelieved) {
  const auto refused = [](int64_t own, int64_t theirs) {
    return RefusalOf([&](Communicator& c) -> absl::Status {
      DTNN_RETURN_IF_ERROR(GatherValues<int64_t>(c, std::vector<int64_t>{0, 5}).status());
      DTNN_RETURN_IF_ERROR(ExchangeCount(c, own));
      std::vector<int32_t> places(static_cast<size_t>(own));
      std::iota(places.begin(), places.end(), 0);
      if (own > 0) DTNN_RETURN_IF_ERROR(SendPlaces(c, places));
      return GatherValues(c, theirs).status();
    });
  };
  EXPECT_EQ(refused(0, -1), "another rank would send -1 sums of 10 gradients");
  EXPECT_EQ(refused(0, 11), "another rank would send 11 sums of 10 gradients");
  EXPECT_EQ(refused(2, 9), "ranks would send 11 sums of 10 gradients");
}

TEST(TopKAllReduceTest, AFailedStepLeavesTheResidual) {
  const absl::Status status = RunRanks(3, [&](Communicator& c) -> absl::Status {
    DTNN_ASSIGN_OR_RETURN(TopKAllReduce sum, TopKAllReduce::Create(c, {}, kElements));
    const Tensor residual = ZeroTensor(DType::kFloat32, {kElements});
    DTNN_RETURN_IF_ERROR(sum.Run(ToTensor(Gradients(c.rank(), 1)), residual, 1, 1));
    if (c.rank() == 2) return absl::OkStatus();  // leaves
    const Vector before = Values(residual);
    const absl::Status failed = sum.Run(ToTensor(Gradients(c.rank(), 2)), residual, 1, 2);
    EXPECT_EQ(failed.code(), absl::StatusCode::kUnavailable) << failed;
    EXPECT_EQ(Values(residual), before);
    return failed;
  });
  EXPECT_FALSE(status.ok());
}

TEST(TopKAllReduceTest, AllZerosAndFewElements) {
  const auto zeros = [](int, int) { return Vector(10); };
  for (const int ranks : {1, 4}) {
    const auto outcomes = RunSteps(ranks, {}, 1, 3, {}, zeros);
    EXPECT_EQ(outcomes[0].result, Vector(10));
    EXPECT_EQ(outcomes[0].volumes.back().result, 0);
  }
  const auto one = [](int rank, int) { return Vector(1, double(rank + 1)); };
  EXPECT_EQ(RunSteps(6, {}, 1, 2, {}, one)[0].result, Vector(1, 21.0));
}

TEST(TopKAllReduceTest, WrongOptionsAndTensorsAreRefused) {
  const absl::Status status = RunRanks(1, [&](Communicator& c) -> absl::Status {
    for (const TopKOptions& bad :
         {TopKOptions{.density = 0}, TopKOptions{.density = 1.5}, TopKOptions{.tau = 0},
          TopKOptions{.tau_prime = 0}, TopKOptions{.density = std::nan("")}}) {
      EXPECT_EQ(TopKAllReduce::Create(c, bad, 10).status().code(),
                absl::StatusCode::kInvalidArgument);
    }
    EXPECT_THAT(std::string(TopKAllReduce::Create(c, {}, int64_t{1} << 31).status().message()),
                HasSubstr("2147483648 gradients"));
    DTNN_ASSIGN_OR_RETURN(TopKAllReduce sum, TopKAllReduce::Create(c, {}, 4));
    const Tensor good = ZeroTensor(DType::kFloat32, {4});
    EXPECT_FALSE(sum.Run(good, ZeroTensor(DType::kFloat32, {5}), 1, 1).ok());
    EXPECT_FALSE(sum.Run(ZeroTensor(DType::kFloat64, {4}), good, 1, 1).ok());
    return absl::OkStatus();
  });
  ASSERT_TRUE(status.ok()) << status;
}

}  // namespace
}  // namespace dtnn
