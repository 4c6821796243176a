#include "models/observe/report/run_report.h"

#include <cmath>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/observe/report/epochs.h"
#include "models/observe/report/testing/page_checker.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

using ::dtnn::testing::CheckedPage;
using ::dtnn::testing::CheckPage;
using ::dtnn::testing::Element;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kHostile[] = "</svg><script>alert('x')</script>&amp;\"\xff\x1b[31m";

RunReport Filled(int epochs) {
  RunReport report = {.facts = {.network = kHostile,
                                .sentence = kHostile,
                                .machine = kHostile,
                                .command = kHostile,
                                .class_names = {kHostile, "b"}}};
  report.epochs_wanted = epochs;
  for (int i = 1; i <= epochs; ++i) {
    report.epochs.push_back({.epoch = i,
                             .metrics = {{kHostile, 1.0 / i},
                                         {StrCat("val_", kHostile), 1.0 / i + 1.0 / 3},
                                         {"mse", std::sqrt(i)}},
                             .learning_rate = 0.1,
                             .seconds = 1.5,
                             .samples_per_second = 1e5 / 3});
  }
  report.better = {{"mse", Better::kLarger}};
  report.profile.emplace();
  report.profile->steps = 10;
  report.profile->seconds = 2;
  report.profile->layers.push_back({.name = kHostile,
                                    .type = "FC",
                                    .algorithms = kHostile,
                                    .forward = 1,
                                    .backward = 2,
                                    .update = 0.5,
                                    .share = 0.8});
  report.activities.seconds = {1, 2, 3, 4, 5};
  report.buffers = {{.name = kHostile, .bytes = 1024, .offset = 0, .first = 0, .last = 3},
                    {.name = "b",
                     .kind = MemoryBuffer::Kind::kGradient,
                     .bytes = 512,
                     .offset = 1024,
                     .first = 4,
                     .last = 5}};
  report.moments = 6;
  report.confusion = {.classes = 2, .counts = {1, 2, 3, 4}};
  report.wrong_images = {{.truth = 0,
                          .predicted = 1,
                          .certainty = 0.5,
                          .image = {.extents = {1, 1, 1}, .pixels = {7}}}};
  return report;
}

TEST(RunReportTest, ARangeTestOfTheLearningRateHasItsCurve) {
  RunReport report = Filled(1);
  EXPECT_THAT(FormatRunReport(report), Not(HasSubstr("rate-test")));
  report.rates = {.points = {{1e-3, 2.5}, {1e-2, 1.25}, {1e-1, 5}}, .suggestion = 1.5e-3};
  const std::string page = FormatRunReport(report);
  EXPECT_THAT(CheckPage(page).problems, IsEmpty());
  EXPECT_THAT(page, HasSubstr("<data value=\"0.0015\">"));
  EXPECT_THAT(page, HasSubstr("<data value=\"1.25\">"));
  EXPECT_THAT(page, HasSubstr("from 2.5 at log10 of the learning rate -3 to 5 at log10 of the "
                              "learning rate -1; lowest 1.25 at log10 of the learning rate -2"));
}

// The chart of a metric that no validation has does not promise one.
TEST(EpochsTest, ChartsHaveALinePerSplit) {
  std::vector<ReportEpoch> epochs;
  for (int i = 1; i <= 3; ++i) {
    epochs.push_back(
        {.epoch = i, .metrics = {{"mse", 1.0 / i}, {"mae", 2.0 / i}, {"val_mae", 3.0 / i}}});
  }
  const std::vector<SvgPicture> pictures = DrawEpochs(epochs);
  ASSERT_EQ(pictures.size(), 2u);
  EXPECT_THAT(pictures[0].contents, Not(HasSubstr("validation")));
  EXPECT_THAT(pictures[1].contents, AllOf(HasSubstr("training"), HasSubstr("validation")));
  // Each of its own values: with those of the other, or of another epoch, a line is another one.
  const auto drawn = [](double training, double validation) {
    const std::vector<SvgPicture> one =
        DrawEpochs({{.epoch = 1, .metrics = {{"mae", 0.0}, {"val_mae", 1.0}}},
                    {.epoch = 2, .metrics = {{"mae", training}, {"val_mae", validation}}}});
    return one[0].contents;
  };
  EXPECT_EQ(drawn(0.25, 0.5), drawn(0.25, 0.5));
  EXPECT_NE(drawn(0.25, 0.5), drawn(0.25, 0.75));
  EXPECT_NE(drawn(0.25, 0.5), drawn(0.125, 0.5));
}

TEST(RunReportTest, HostileNamesDoNoHarm) {
  for (const int epochs : {0, 1, 2, 50}) {
    const CheckedPage page = CheckPage(FormatRunReport(Filled(epochs)));
    EXPECT_THAT(page.problems, IsEmpty()) << epochs;
    EXPECT_THAT(page.root.text, HasSubstr("<script>alert('x')</script>")) << "as words";
  }
}

TEST(RunReportTest, TheTableHoldsTheNumbersExactly) {
  const RunReport report = Filled(7);
  const CheckedPage page = CheckPage(FormatRunReport(report));
  for (const Element* table : page.root.All("table")) {
    if (table->All("th")[0]->text != "epoch") continue;
    const auto rows = NumbersOf(*table);
    ASSERT_EQ(rows.size(), 7u);
    for (size_t i = 0; i < 7; ++i) {
      const ReportEpoch& epoch = report.epochs[i];
      EXPECT_EQ(rows[i], (std::vector<double>{double(epoch.epoch), epoch.metrics[0].second,
                                              epoch.metrics[1].second, epoch.metrics[2].second, 0.1,
                                              1e5 / 3, 1.5}));
    }
    return;
  }
  FAIL() << "no table of epochs";
}

TEST(RunReportTest, ResultsNameTheBestEpoch) {
  const CheckedPage page = CheckPage(FormatRunReport(Filled(7)));
  const auto rows = NumbersOf(*page.root.All("table")[0]);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[2][1], std::sqrt(7));
  EXPECT_EQ(rows[2][2], std::sqrt(7));
  EXPECT_EQ(rows[2][3], 7);
  EXPECT_TRUE(std::isnan(rows[0][2])) << "nobody knows which is better";
}

TEST(RunReportTest, ThousandsOfEpochsStayBelowTwoMegabytes) {
  RunReport report = Filled(100'000);
  for (int64_t i = 0; i < 5000; ++i) {
    report.profile->layers.push_back({.name = StrCat("layer", i), .forward = double(i)});
    report.buffers.push_back({.name = "x", .bytes = 64, .offset = double(64 * i), .last = 3});
  }
  const CheckedPage page = CheckPage(FormatRunReport(report));
  EXPECT_THAT(page.problems, IsEmpty());
  for (const Element* table : page.root.All("table")) {
    if (table->All("th")[0]->text == "epoch") {
      EXPECT_EQ(NumbersOf(*table).back()[0], 100'000) << "the last is always there";
    }
  }
}

TEST(RunReportTest, LayersHaveTheirMemoryAndEnergy) {
  RunReport report = Filled(2);
  report.profile->layers = {
      {.name = "fat", .forward = 1, .arena = 2e6, .parameters = 1.5e6, .joules = 7.25}};
  const CheckedPage page = CheckPage(FormatRunReport(report));
  EXPECT_THAT(page.problems, IsEmpty());
  for (const Element* table : page.root.All("table")) {
    if (table->All("th")[0]->text != "layer" || table->All("th").size() != 10) continue;
    EXPECT_EQ(table->All("th")[6]->text, "memory, MB");
    EXPECT_EQ(table->All("th")[7]->text, "joules");
    EXPECT_EQ(table->All("td")[5]->text, "3.5");
    EXPECT_EQ(table->All("td")[6]->text, "7.25");
    return;
  }
  FAIL() << "no table of layers with energy";
}

TEST(RunReportTest, OfSeveralRanksItSaysWhatIsOfOneOnly) {
  RunReport report = Filled(2);
  EXPECT_THAT(CheckPage(FormatRunReport(report)).root.text, Not(HasSubstr("one of ")));
  report.ranks = {{.waited = 1, .seconds = 2}, {.waited = 0, .seconds = 2}};
  const CheckedPage page = CheckPage(FormatRunReport(report));
  EXPECT_THAT(page.problems, IsEmpty());
  for (const char* what : {"Images", "Times"}) {
    EXPECT_THAT(page.root.text,
                HasSubstr(StrCat(what, " of the rank that writes this page, one of 2;")));
  }
}

TEST(RunReportTest, OnlyAPageThatWillChangeLoadsItselfAgain) {
  RunReport report = Filled(2);
  EXPECT_THAT(FormatRunReport(report), HasSubstr("http-equiv=\"refresh\""));
  report.state = ReportState::kDone;
  EXPECT_THAT(FormatRunReport(report), Not(HasSubstr("http-equiv=\"refresh\"")));
  report.state = ReportState::kFailed;
  report.end = "the disk <is> gone";
  const CheckedPage page = CheckPage(FormatRunReport(report));
  EXPECT_THAT(page.root.text, HasSubstr("Training has stopped: 2 of 2 epochs done. the disk <is>"));
}

TEST(RunReportTest, WhatIsNotKnownIsLeftOut) {
  const CheckedPage page = CheckPage(FormatRunReport({.facts = {.network = "x"}}));
  EXPECT_THAT(page.problems, IsEmpty());
  EXPECT_THAT(page.root.All("h2"), IsEmpty());
  EXPECT_THAT(page.root.All("svg"), IsEmpty());
}

}  // namespace
}  // namespace dtnn
