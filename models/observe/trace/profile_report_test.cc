#include "models/observe/trace/profile_report.h"

#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace dtnn {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::vector<LayerFacts> kLayers = {
    {.id = 0, .name = "0_Input", .type = "Input"},
    {.id = 1,
     .name = "1_Conv2D",
     .type = "Conv2D",
     .algorithms = "forward winograd, backward_data gemm",
     .forward_flops = 1e6,
     .backward_flops = 2e6,
     .forward_bytes = 100,
     .backward_bytes = 200,
     .parameter_bytes = 1000,
     .held_parameter_bytes = 4000,
     .arena_bytes = 2.5e6,
     .workspace_bytes = 77,
     .first_gradient = 0,
     .last_gradient = 250},
    {.id = 3,
     .name = "3_FC, \"x\"",
     .type = "FC",
     .forward_flops = 1000,
     .backward_flops = 2000,
     .forward_bytes = 50'000,
     .backward_bytes = 100'000,
     .first_gradient = 256,
     .last_gradient = 1006},
};

constexpr int64_t kMs = 1'000'000;

class Clock {
 public:
  explicit Clock(Profile& profile) : profile_(profile) {}
  // Something that takes its own time besides that of what is inside.
  template <typename Inside>
  void Do(Event event, int64_t own, Inside inside) {
    event.begin = now_;
    profile_.Begin(event);
    inside();
    now_ += own;
    event.end = now_;
    profile_.End(event);
  }
  void Do(const Event& event, int64_t own) {
    Do(event, own, [] {});
  }

 private:
  Profile& profile_;
  int64_t now_ = 1000;
};

// Two steps of 10 samples and a validation.
void Fill(Profile& profile) {
  Clock clock(profile);
  clock.Do({.activity = Activity::kTraining}, 2 * kMs, [&] {
    for (int i = 0; i < 2; ++i) {
      clock.Do({.activity = Activity::kStep, .samples = 10}, kMs, [&] {
        clock.Do({.activity = Activity::kForward, .layer = 1, .samples = 10}, 10 * kMs);
        clock.Do({.activity = Activity::kForward, .layer = 3, .samples = 10}, 3 * kMs,
                 [&] { clock.Do({.activity = Activity::kAllReduce, .bytes = 8}, 2 * kMs); });
        clock.Do({.activity = Activity::kBackward, .layer = 3, .samples = 10}, 5 * kMs);
        clock.Do({.activity = Activity::kBackward, .layer = 1, .samples = 10}, 20 * kMs);
        clock.Do({.activity = Activity::kUpdate}, 8 * kMs);
      });
    }
  });
  clock.Do({.activity = Activity::kValidation}, kMs, [&] {
    clock.Do({.activity = Activity::kEvaluate, .samples = 10}, kMs, [&] {
      clock.Do({.activity = Activity::kInference, .layer = 1, .samples = 10}, 4 * kMs);
    });
  });
  clock.Do({.activity = Activity::kCheckpoint}, 6 * kMs);
}

TEST(ProfileTest, TimeIsCountedOnce) {
  Profile profile(4);
  Fill(profile);
  EXPECT_EQ(profile.training(Activity::kForward).nanoseconds, 2 * 13 * kMs);
  EXPECT_EQ(profile.training(Activity::kAllReduce).nanoseconds, 2 * 2 * kMs);
  EXPECT_EQ(profile.training(Activity::kStep).nanoseconds, 2 * kMs);
  EXPECT_EQ(profile.training(Activity::kTraining).nanoseconds, 2 * kMs);
  EXPECT_EQ(profile.training(Activity::kCheckpoint).nanoseconds, 6 * kMs);
  EXPECT_EQ(profile.training(Activity::kInference).calls, 0) << "validation is not training";
  EXPECT_EQ(profile.nanoseconds(), (2 * 49 + 2 + 6) * kMs);
  EXPECT_EQ(profile.layers()[3].forward.nanoseconds, 2 * 5 * kMs) << "with what it waited for";
  EXPECT_EQ(profile.layers()[1].inference.nanoseconds, 4 * kMs);
}

TEST(ProfileTest, OtherThreadsOnlyRead) {
  Profile profile(4);
  std::thread([&] {
    Clock clock(profile);
    clock.Do({.activity = Activity::kReadData}, 3 * kMs);
    clock.Do({.activity = Activity::kStep}, 3 * kMs);
  }).join();
  EXPECT_EQ(profile.reading_nanoseconds(), 3 * kMs);
  EXPECT_EQ(profile.nanoseconds(), 0);
}

// Slices of a batch go forward one by one, and backward together.
TEST(ProfileReportTest, PassesForwardAndBackwardAreCountedApart) {
  Profile profile(4);
  Clock clock(profile);
  clock.Do({.activity = Activity::kStep, .samples = 10}, kMs, [&] {
    for (const int64_t samples : {4, 4, 2}) {
      clock.Do({.activity = Activity::kForward, .layer = 1, .samples = samples}, 5 * kMs);
    }
    clock.Do({.activity = Activity::kBackward, .layer = 1, .samples = 9}, 25 * kMs);
  });
  const ProfileReport report = MakeReport(profile, kLayers, {.flops = 2e9, .bytes = 1e9});
  ASSERT_EQ(report.layers.size(), 1u);
  EXPECT_DOUBLE_EQ(report.layers[0].flops_per_second, (10 * 1e6 + 9 * 2e6) / 0.04);
  EXPECT_DOUBLE_EQ(report.layers[0].bytes_per_second,
                   (10 * 100 + 9 * 200 + 1000 * (3 + 2 * 1)) / 0.04);
}

TEST(ProfileReportTest, SpeedsAreSharesOfWhatTheMachineCanDo) {
  Profile profile(4);
  Fill(profile);
  const ProfileReport report = MakeReport(profile, kLayers, {.flops = 2e9, .bytes = 1e9});
  EXPECT_EQ(report.steps, 2);
  EXPECT_EQ(report.samples, 20);
  EXPECT_DOUBLE_EQ(report.seconds, 0.106);
  ASSERT_EQ(report.layers.size(), 2u) << "the input takes no time";
  const ProfileReport::Layer& conv = report.layers[0];
  EXPECT_DOUBLE_EQ(conv.forward, 0.02);
  EXPECT_DOUBLE_EQ(conv.backward, 0.04);
  EXPECT_DOUBLE_EQ(conv.update, 0.016 * 250 / 1000);
  EXPECT_DOUBLE_EQ(conv.flops_per_second, 20 * 3e6 / 0.06);
  EXPECT_DOUBLE_EQ(conv.bytes_per_second, (20 * 300 + 1000 * (2 + 2 * 2)) / 0.06);
  EXPECT_FALSE(conv.memory_bound);
  EXPECT_DOUBLE_EQ(conv.reached, 0.5);
  EXPECT_DOUBLE_EQ(conv.share, (0.06 + 0.004) / 0.106);
  EXPECT_DOUBLE_EQ(conv.inference, 0.004);
  const ProfileReport::Layer& fc = report.layers[1];
  EXPECT_TRUE(fc.memory_bound);
  EXPECT_DOUBLE_EQ(fc.reached, 20 * 150'000 / 1e9 / 0.02);
  EXPECT_EQ(report.predicted, 0) << "nobody asked";
  ASSERT_EQ(report.kinds.size(), 2u);
  EXPECT_EQ(report.kinds[0].type, "Conv2D") << "the costliest first";
  double sum = 0;
  for (const ProfileReport::Row& row : report.activities) sum += row.seconds;
  EXPECT_DOUBLE_EQ(sum, report.seconds);
  EXPECT_EQ(report.activities[0].name, "backward");
}

TEST(ProfileReportTest, TheTableSaysWhereTheTimeWent) {
  Profile profile(4);
  Fill(profile);
  const std::string text = FormatReport(MakeReport(profile, kLayers, {.flops = 2e9, .bytes = 1e9}));
  EXPECT_THAT(text, HasSubstr("**** Profile of 2 steps, 53.000 ms per step; peak 2.0 GFLOP/s, "
                              "copies 1.0 GB/s\n"));
  EXPECT_THAT(text, HasSubstr("\n  slowest layers: 1_Conv2D 60.4%, 3_FC, \"x\" 30.2%\n"));
  EXPECT_THAT(text, HasSubstr("  1_Conv2D                    10.000    20.000     2.000   60.4%"));
  EXPECT_THAT(text, HasSubstr("  reached  arena MB params MB   work MB  computed by\n"));
  EXPECT_THAT(text, HasSubstr("compute    50.0%     2.500     0.004     0.000  forward winograd, "
                              "backward_data gemm\n"));
  EXPECT_THAT(text, HasSubstr("\n  all-reduce                       2     2.000    3.8%\n"));
  EXPECT_THAT(text, HasSubstr("rest of the steps"));
  EXPECT_THAT(text, Not(HasSubstr("Input")));
  EXPECT_EQ(FormatReport(MakeReport(Profile(4), kLayers, {})),
            "**** Profile of 0 steps, 0.000 ms per step\n  nothing was trained\n");
}

TEST(ProfileReportTest, ALayerHasTheEnergyOfItsTime) {
  Profile profile(4);
  Fill(profile);
  const ProfileReport report =
      MakeReport(profile, kLayers, {.flops = 2e9, .bytes = 1e9}, {}, /*watts=*/50);
  EXPECT_DOUBLE_EQ(report.layers[0].joules.value(), 50 * report.layers[0].seconds());
  const std::string text = FormatReport(report);
  EXPECT_THAT(text, HasSubstr("   work MB        mJ  computed by\n"));
  EXPECT_THAT(text, HasSubstr("     0.000  1600.000  forward winograd"));
  const auto json = nlohmann::json::parse(ReportJson(report));
  EXPECT_EQ(json["layers"][0]["joules"], *report.layers[0].joules);
}

TEST(ProfileReportTest, AnotherMachineIsPredicted) {
  Profile profile(4);
  Fill(profile);
  const MachineSpeed here = {.flops = 2e9, .bytes = 1e9};
  PredictedMachine there = {.speed = {.flops = 4e9, .bytes = 3e9}};
  ProfileReport report = MakeReport(profile, kLayers, here, there);
  // The first layer computes, the second moves bytes; one update of 1000 bytes in each step.
  const double passes = 20 * 3e6 / 4e9 + 20 * 150'000 / 3e9, update = 3 * 1000 / 3e9;
  EXPECT_DOUBLE_EQ(report.predicted, passes + 2 * update);
  EXPECT_DOUBLE_EQ(report.layers[0].reached, 0.5) << "of the machine that ran";
  EXPECT_THAT(FormatReport(report),
              HasSubstr("copies 1.0 GB/s\n  predicted: 8.001 ms per step (4.0 GFLOP/s, copies 3.0 "
                        "GB/s)\n"));
  there.exchange = 0.0015;
  report = MakeReport(profile, kLayers, here, there);
  EXPECT_DOUBLE_EQ(report.predicted, passes + 2 * (update + 0.0015));
  EXPECT_THAT(FormatReport(report),
              HasSubstr("predicted: 9.501 ms per step, 1.500 of it for the exchange (4.0 "));
  there.updates_per_step = 0.5;
  EXPECT_DOUBLE_EQ(MakeReport(profile, kLayers, here, there).predicted, passes + update + 0.0015);
}

TEST(ProfileReportTest, JsonAndCsvHoldTheSame) {
  Profile profile(4);
  Fill(profile);
  const ProfileReport report = MakeReport(profile, kLayers, {.flops = 2e9, .bytes = 1e9},
                                          {.speed = {.flops = 2e9, .bytes = 1e9}});
  const auto json = nlohmann::json::parse(ReportJson(report));
  EXPECT_EQ(json["steps"], 2);
  EXPECT_EQ(json["seconds"], report.seconds);
  EXPECT_EQ(json["predicted_seconds"], report.predicted);
  ASSERT_EQ(json["layers"].size(), 2u);
  EXPECT_EQ(json["layers"][0]["forward_seconds"], report.layers[0].forward);
  EXPECT_EQ(json["layers"][1]["name"], "3_FC, \"x\"");
  EXPECT_EQ(json["layers"][0]["arena_bytes"], 2.5e6);
  EXPECT_EQ(json["layers"][0]["parameter_bytes"], 4000);
  EXPECT_EQ(json["layers"][0]["workspace_bytes"], 77);
  EXPECT_TRUE(json["layers"][0]["joules"].is_null()) << "nobody has measured";
  EXPECT_EQ(json["layers"][1]["bound"], "memory");
  EXPECT_EQ(json["activities"].size(), report.activities.size());
  EXPECT_EQ(json["kinds"][0]["type"], "Conv2D");
  const std::string csv = ReportCsv(report);
  EXPECT_THAT(csv, HasSubstr("\n1_Conv2D,Conv2D,0.02,0.04,0.004,"));
  EXPECT_THAT(csv, HasSubstr("\n\"3_FC, \"\"x\"\"\",FC,0.01,"));
  EXPECT_THAT(csv, HasSubstr(",compute,0.5,2500000,4000,77,,\"forward winograd, backward_data "
                             "gemm\"\n"));
}

TEST(ProfileReportTest, CellsOfCsvAreInQuotesWhereTheyMustBe) {
  for (const auto& [name, cell] : {std::pair("a b", "a b"),
                                   {"a\"b", "\"a\"\"b\""},
                                   {"a\nb", "\"a\nb\""},
                                   {"a,b", "\"a,b\""}}) {
    ProfileReport report;
    report.layers.push_back({.name = name, .type = "FC"});
    EXPECT_THAT(ReportCsv(report), HasSubstr(std::string("computed_by\n") + cell + ",FC,0,"));
  }
}

}  // namespace
}  // namespace dtnn
