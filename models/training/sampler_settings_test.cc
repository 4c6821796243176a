#include "models/training/sampler_settings.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/local.h"
#include "data/loading/epoch_division.h"
#include "data/loading/split.h"
#include "data/testing/counting_dataset.h"
#include "data/transforms/flip.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();

SamplerSettings Of(int64_t samples, int64_t batch, int64_t ranks) {
  return {.batch = batch,
          .ranks = ranks,
          .samples = samples,
          .seed = 7,
          .treatment = SampleTreatment()};
}

int64_t DoneAt(const SamplerSettings& s, const EpochPlace& place) {
  return EpochDivision{
      .samples = s.samples, .batch = s.batch, .ranks = s.ranks, .first = place.first}
      .SamplesBefore(place.step);
}

TEST(SamplerSettingsTest, AnEpochResumesAfterWhatIsDone) {
  for (const int64_t samples : {24, 26, 101}) {
    for (int64_t was_ranks = 1; was_ranks <= 4; ++was_ranks) {
      for (const int64_t was_batch : {1, 3, 8, 200}) {
        SamplerSettings was = Of(samples, was_batch, was_ranks);
        for (const int64_t first : {0, 5, 20}) {
          was.first = first;
          if (samples - first < was_ranks) continue;
          for (int64_t step = 0; DoneAt(was, {first, step}) < samples; ++step) {
            const int64_t done = DoneAt(was, {first, step});
            for (const int64_t ranks : {1, 2, 3}) {
              for (const int64_t batch : {1, 4, 9}) {
                const SamplerSettings now = Of(samples, batch, ranks);
                const auto found = PlaceToResume(was, step, now);
                ASSERT_EQ(found.ok(), ranks <= samples - done);
                if (!found.ok()) continue;
                const EpochPlace place = *found;
                EXPECT_EQ(DoneAt(now, place), done);
                EXPECT_TRUE(place.first == 0 || place.step == 0);
                bool begins = false;
                const EpochDivision whole = {.samples = samples, .batch = batch, .ranks = ranks};
                for (int64_t i = 0; i < whole.steps(); ++i) {
                  begins |= whole.SamplesBefore(i) == done;
                }
                EXPECT_EQ(place.first == 0, begins) << "steps of a whole epoch where they do";
              }
            }
          }
        }
      }
    }
  }
}

TEST(SamplerSettingsTest, AsItWasAnEpochGoesOnAtTheSameStep) {
  for (const int64_t samples : {24, 25, 26}) {
    const SamplerSettings settings = Of(samples, 4, 2);
    const int64_t steps = EpochDivision{.samples = samples, .batch = 4, .ranks = 2}.steps();
    for (int64_t step = 1; step <= steps; ++step) {
      const EpochPlace place = *PlaceToResume(settings, step, settings);
      EXPECT_EQ(place.first, 0);
      EXPECT_EQ(place.step, step);
    }
  }
}

TEST(SamplerSettingsTest, ADoneEpochIsDoneForAll) {
  // Its last two samples joined the second step of three ranks; one rank has a third step for them.
  const EpochPlace place = *PlaceToResume(Of(26, 4, 3), 2, Of(26, 12, 1));
  EXPECT_EQ(place.first, 0);
  EXPECT_EQ(place.step, 3);
}

TEST(SamplerSettingsTest, StepsCountAsIfAllHadBeenLikeThis) {
  SamplerSettings settings = Of(100, 5, 2);
  EXPECT_EQ(StepsBeforeFirst(settings), 0);
  settings.first = 48;  // 52 left: 6 steps of 10
  EXPECT_EQ(StepsBeforeFirst(settings), 4);
  settings.first = 3;
  EXPECT_EQ(StepsBeforeFirst(settings), 0);
  settings.first = 100;
  EXPECT_EQ(StepsBeforeFirst(settings), 10);
}

TEST(SamplerSettingsTest, WhatDiffersIsNamedWithBothValues) {
  SamplerSettings was = Of(100, 5, 2);
  was.treatment->transforms = {"flip:0.5", "crop:6:0.25"};
  was.treatment->normalization = {.offset = {-0.25}, .scale = {2}};
  const struct {
    std::function<void(SamplerSettings&)> change;
    const char* text;
  } cases[] = {
      {[](auto& s) { s.samples = 99; }, "the number of samples was 100 and is now 99: "},
      {[](auto& s) { s.seed = 8; }, "the seed was 7 and is now 8: "},
      {[](auto& s) { s.steps_per_epoch = 10; }, "number of steps per epoch was 0 and is now 10: "},
      {[](auto& s) { s.treatment->shuffle = false; },
       "the order of samples was shuffled and is now that of the files: "},
      {[](auto& s) { s.treatment->transforms = {}; },
       "the list of transforms was flip:0.5,crop:6:0.25 and is now none: "},
      {[](auto& s) { s.treatment->transforms[1] = "crop:7:0.25"; },
       "the list of transforms was flip:0.5,crop:6:0.25 and is now flip:0.5,crop:7:0.25: "},
      {[](auto& s) { s.treatment->normalization.offset = {-0.5}; },
       "the offset of the normalisation was -0.25 and is now -0.5: "},
      {[](auto& s) {
         s.treatment->normalization.offset = {0, 0, 0};
       },
       "the offset of the normalisation was -0.25 and is now 0/0/0: "},
      {[](auto& s) { s.treatment->normalization.scale = {3}; },
       "the scale of the normalisation was 2 and is now 3: "},
      {[](auto& s) { s.treatment->normalization = {}; },
       "the offset of the normalisation was -0.25 and is now none: "},
  };
  for (const auto& c : cases) {
    SamplerSettings now = was;
    c.change(now);
    const absl::Status status = PlaceToResume(was, 2, now).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.text));
    EXPECT_THAT(std::string(status.message()), HasSubstr("; use the old value, or resume "));
  }
}

TEST(SamplerSettingsTest, WhatChangesNothingIsTheSame) {
  SamplerSettings was = Of(100, 5, 2), old = was, rounded = was;
  was.treatment->normalization = {.offset = {-0.25}, .scale = {2}};
  old.treatment = std::nullopt;  // of an older version
  EXPECT_TRUE(PlaceToResume(old, 2, was).ok());
  rounded.treatment->normalization = {.offset = {-0.25 * (1 + 1e-9)}, .scale = {2}};
  EXPECT_TRUE(PlaceToResume(was, 2, rounded).ok()) << "statistics of another processor";
}

TEST(SamplerSettingsTest, StepsPerEpochNeedStepsOfTheSameSize) {
  SamplerSettings was = Of(60, 6, 2), now = Of(60, 4, 3), other = Of(90, 6, 3);
  was.steps_per_epoch = now.steps_per_epoch = other.steps_per_epoch = 5;
  const EpochPlace place = *PlaceToResume(was, 3, now);
  EXPECT_EQ(place.first, 0) << "which a sampler of given steps cannot leave out";
  EXPECT_EQ(place.step, 3);
  EXPECT_THAT(std::string(PlaceToResume(was, 3, other).status().message()),
              HasSubstr("use batches of 12 samples over all ranks"));
}

TEST(SamplerSettingsTest, DataOfRanksOfTheirOwnGoOnAsTheyWere) {
  SamplerSettings own = Of(100, 5, 2);
  own.own_data = true;
  EXPECT_EQ(PlaceToResume(own, 17, own)->step, 17) << "one rank may have nearly all data";
  SamplerSettings ranks = own, batch = own;
  ranks.ranks = 3;
  batch.batch = 6;
  for (const SamplerSettings& now : {ranks, batch}) {
    EXPECT_THAT(std::string(PlaceToResume(own, 3, now).status().message()),
                HasSubstr("end the epoch on 2 ranks with batches of 5"));
  }
  EXPECT_THAT(std::string(PlaceToResume(own, 3, Of(100, 5, 2)).status().message()),
              HasSubstr("give each rank its own data again"));
  EXPECT_THAT(std::string(PlaceToResume(Of(100, 5, 2), 3, own).status().message()),
              HasSubstr("give the shared data again"));
}

TEST(SamplerSettingsTest, OneIsSingularInMessages) {
  EXPECT_THAT(Describe(Of(1, 4, 1)), HasSubstr("1 sample, batches of 4 on 1 rank, 0 steps per "));
  SamplerSettings own = Of(100, 5, 1), wider = Of(100, 6, 1);
  own.own_data = wider.own_data = true;
  EXPECT_THAT(std::string(PlaceToResume(own, 3, wider).status().message()),
              HasSubstr("end the epoch on 1 rank with batches of 5"));
}

TEST(SamplerSettingsTest, WhatNoRunCanHaveLeftIsRefused) {
  const auto refused = [](int64_t step, int64_t batch, int64_t ranks, int64_t first) {
    SamplerSettings was = Of(100, batch, ranks);
    was.first = first;
    const absl::Status status = PlaceToResume(was, step, Of(100, 5, 2)).status();
    return status.code() == absl::StatusCode::kInvalidArgument &&
           status.message().find("the state is damaged") != absl::string_view::npos;
  };
  EXPECT_FALSE(refused(10, 5, 2, 0));
  EXPECT_TRUE(refused(11, 5, 2, 0));
  EXPECT_TRUE(refused(kHuge, 5, 2, 0));
  EXPECT_TRUE(refused(-1, 5, 2, 0));
  EXPECT_TRUE(refused(2, 0, 2, 0));
  EXPECT_TRUE(refused(2, 5, 0, 0));
  EXPECT_TRUE(refused(2, -5, -2, 0));
  EXPECT_FALSE(refused(2, 5, 2, 80));
  EXPECT_TRUE(refused(3, 5, 2, 80));
  EXPECT_TRUE(refused(0, 5, 2, -1));
  EXPECT_TRUE(refused(0, 5, 2, 101));
  EXPECT_TRUE(refused(0, 5, 2, kHuge));
  EXPECT_FALSE(refused(1, 5, 2, 98));
  EXPECT_TRUE(refused(0, 5, 2, 99)) << "one of two ranks would have had nothing";
  EXPECT_TRUE(refused(1, kHuge, kHuge, 0)) << "which makes no step of 100 samples";
}

TEST(SamplerSettingsTest, AreThoseOfTheRun) {
  const absl::Status status = RunRanks(3, [](Communicator& communicator) -> absl::Status {
    const auto settings = [&](int64_t samples, const LoaderOptions& options) {
      const auto loader = *Loader::Create(std::make_shared<testing::CountingDataset>(samples),
                                          Split::kTrain, AllIndices(samples), options);
      return SettingsOf(*loader, *RankShares::Of(*loader, &communicator));
    };
    const int rank = communicator.rank();
    const LoaderOptions common = {.batch = 5, .rank = rank, .ranks = 3, .seed = 9};
    EXPECT_EQ(
        settings(100, common),
        (SamplerSettings{
            .batch = 5, .ranks = 3, .samples = 100, .seed = 9, .treatment = SampleTreatment()}));
    LoaderOptions own = {.batch = 5, .shuffle = false, .seed = uint64_t(rank)};
    own.transforms = {Flip({.probability = 0.25})};
    own.mixup = 0.5;
    own.normalization = {.offset = {double(rank)}, .scale = {1}};
    EXPECT_EQ(
        settings(10 + rank, own),
        (SamplerSettings{.batch = 5,
                         .ranks = 3,
                         .samples = 33,
                         .treatment = SampleTreatment{.shuffle = false,
                                                      .transforms = {"flip:0.25", "mixup:0.5"}},
                         .own_data = true}))
        << "the same on all ranks";
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status;
}

TEST(SamplerSettingsTest, TheyAreToldInWords) {
  EXPECT_EQ(Describe(Of(100, 5, 2)),
            "100 samples, batches of 5 on 2 ranks, 0 steps per epoch, seed 7");
  SamplerSettings own = Of(100, 5, 2);
  own.own_data = true;
  EXPECT_THAT(Describe(own), HasSubstr("each rank with its own data"));
}

}  // namespace
}  // namespace dtnn
