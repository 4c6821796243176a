#include "models/run/options/option_members.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/run/options/in_force.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;

// Fits any member of a struct.
struct Any {
  template <class T>
  operator T() const&;  // NOLINT: never called
};
template <size_t>
using AnyOf = Any;

template <class T, size_t... I>
constexpr bool HasFields(std::index_sequence<I...>) {
  return requires { T{AnyOf<I>()...}; };
}

// The members of a struct without constructors.
template <class T, size_t N = 1>
constexpr size_t Fields() {
  if constexpr (HasFields<T>(std::make_index_sequence<N>())) {
    return Fields<T, N + 1>();
  } else {
    return N - 1;
  }
}

// Rows of members directly below `prefix`.
size_t Rows(std::string_view prefix) {
  return size_t(std::ranges::count_if(OptionMembers(), [&](const OptionMember& member) {
    return member.path.starts_with(prefix) &&
           member.path.find('.', prefix.size()) == member.path.npos;
  }));
}

TEST(OptionMembersTest, EveryMemberHasItsRow) {
  using S = SchedulerOptions;
  EXPECT_EQ(Rows(""), Fields<RunOptions>() - 14) << "beside 14 structs";
  EXPECT_EQ(Rows("network."), Fields<NetworkOptions>());
  EXPECT_EQ(Rows("training."), Fields<TrainingOptions>());
  EXPECT_EQ(Rows("data."), Fields<DataOptions>() - 2) << "synthetic, augment";
  EXPECT_EQ(Rows("data.synthetic."), Fields<GeneratedDataOptions>());
  EXPECT_EQ(Rows("data.augment."), Fields<AugmentOptions>());
  EXPECT_EQ(Rows("optimizer."), Fields<OptimizerOptions>());
  EXPECT_EQ(Rows("schedule."), Fields<S>() - 8) << "a struct for each of eight schedulers";
  EXPECT_EQ(Rows("schedule.warm_up."), Fields<S::WarmUp>());
  EXPECT_EQ(Rows("schedule.early_stopping."), Fields<S::EarlyStopping>());
  EXPECT_EQ(Rows("schedule.reduce_on_plateau."), Fields<S::ReduceOnPlateau>());
  EXPECT_EQ(Rows("schedule.reduce_every."), Fields<S::ReduceEvery>());
  EXPECT_EQ(Rows("schedule.stop_at."), Fields<S::StopAt>());
  EXPECT_EQ(Rows("schedule.keep_best."), Fields<S::KeepBest>());
  EXPECT_EQ(Rows("schedule.cosine."), Fields<S::Cosine>());
  EXPECT_EQ(Rows("schedule.polynomial."), Fields<S::Polynomial>());
  EXPECT_EQ(Rows("device."), Fields<DeviceOptions>() - 1) << "fusions";
  EXPECT_EQ(Rows("device.fusions."), Fields<FusionOptions>());
  EXPECT_EQ(Rows("convolution."), Fields<ConvolutionOptions>());
  EXPECT_EQ(Rows("ranks."), Fields<RankOptions>());
  EXPECT_EQ(Rows("sync."), Fields<SyncOptions>());
  EXPECT_EQ(Rows("federation."), Fields<FederationOptions>());
  EXPECT_EQ(Rows("encryption."), Fields<EncryptionOptions>());
  EXPECT_EQ(Rows("checkpoint."), Fields<CheckpointOptions>());
  EXPECT_EQ(Rows("output."), Fields<OutputOptions>() - 1) << "pmlib";
  EXPECT_EQ(Rows("output.pmlib."), Fields<PowerMeterOptions>());
  EXPECT_EQ(Rows("prediction."), Fields<PredictionOptions>());
  for (const OptionMember& member : OptionMembers()) {
    EXPECT_EQ(std::ranges::count(OptionMembers(), member.path, &OptionMember::path), 1)
        << member.path;
  }
}

TEST(OptionMembersTest, NumbersOutsideOfTheirRangeAreRefusedByName) {
  EXPECT_TRUE(CheckRanges(RunOptions()).ok());
  EXPECT_TRUE(CheckRanges(InForce(RunOptions())).ok());
  const auto error = [](auto edit) {
    RunOptions options;
    edit(options);
    return std::string(CheckRanges(options).message());
  };
  EXPECT_EQ(error([](auto& o) { o.training.epochs = -1; }),
            "RunOptions::training.epochs=-1: must be a number >= 0 and <= 1000000000");
  EXPECT_THAT(error([](auto& o) { o.optimizer.learning_rate = 0; }),
              HasSubstr("optimizer.learning_rate=0: must be a number > 0"));
  EXPECT_THAT(error([](auto& o) { o.optimizer.beta1 = 1; }), HasSubstr("optimizer.beta1=1: "));
  EXPECT_THAT(error([](auto& o) {
                o.data.normalize_scale = {1, 0.0 / 0.0};
              }),
              HasSubstr("data.normalize_scale=nan: "));
  EXPECT_THAT(error([](auto& o) {
                o.data.synthetic.input_shape = {1, 0, 4};
              }),
              HasSubstr("data.synthetic.input_shape=0: "));
}

}  // namespace
}  // namespace dtnn
