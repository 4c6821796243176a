#include "apps/progress.h"

#include <algorithm>
#include <cstdio>
#include <sstream>

#include "gtest/gtest.h"
#include "tools/testing/count_allocations.h"

namespace dtnn {
namespace {

std::string Line(const ProgressState& state, const Display& display) {
  std::string line;
  AppendProgress(state, display, line);
  return line;
}

size_t Columns(const std::string& text) {
  size_t columns = 0;
  for (const char c : text) columns += (c & 0xc0) != 0x80;
  return columns;
}

constexpr ProgressState kHalf = {"Epoch 1/5", 500, 1000, 2.0, "cce: 0.5000000"};

TEST(ProgressTest, HoldsAllParts) {
  EXPECT_EQ(Line(kHalf, {.live = true, .columns = 90}),
            "Epoch 1/5:  50%|████████        | 500/1000 [00:02<00:02, 250.00 samples/s, "
            "cce: 0.5000000]");
}

TEST(ProgressTest, FillsExactlyTheColumns) {
  for (int columns = 66; columns <= 110; ++columns) {
    for (const int64_t done : {0, 1, 333, 999, 1000}) {
      ProgressState state = kHalf;
      state.done = done;
      const Display display = {.live = true, .columns = columns};
      EXPECT_EQ(Columns(Line(state, display)), static_cast<size_t>(columns)) << done;
    }
  }
}

TEST(ProgressTest, BarShowsEighths) {
  // 8 columns of bar: 64 eighths for 64 samples.
  const auto bar = [](int64_t done) {
    const std::string line = Line({"T", done, 64, 0, ""}, {.live = true, .columns = 46});
    const size_t begin = line.find('|') + 1;
    return line.substr(begin, line.rfind('|') - begin);
  };
  EXPECT_EQ(Columns(bar(10)), 8u);
  EXPECT_EQ(bar(10).substr(0, 7), "█▂ ");
  EXPECT_EQ(bar(15).substr(0, 7), "█▇ ");
  EXPECT_EQ(bar(16).substr(0, 7), "██ ");
}

TEST(ProgressTest, PercentageReaches100OnlyAtTheEnd) {
  const auto percentage = [](int64_t done) {
    return Line({"T", done, 1000, 1, ""}, {}).substr(3, 4);
  };
  EXPECT_EQ(percentage(0), "  0%");
  EXPECT_EQ(percentage(999), " 99%");
  EXPECT_EQ(percentage(1000), "100%");
  EXPECT_EQ(percentage(2000), "100%");
}

TEST(ProgressTest, NarrowTerminalsLoseTheBarAndThenTheText) {
  EXPECT_EQ(Line(kHalf, {.live = true, .columns = 20}), "Epoch 1/5:  50%|| 50");
  EXPECT_EQ(Line(kHalf, {.live = true, .columns = 1}), "E");
}

TEST(ProgressTest, LongTextsWidenTheLineAndKeepTenColumnsOfBar) {
  ProgressState state = kHalf;
  EXPECT_EQ(Columns(Line(state, {})), 110u);
  state.metrics = "cce: 0.5000000, acc: 74.20%, val_cce: 0.3921180, val_acc: 88.95%";
  const std::string line = Line(state, {});
  EXPECT_TRUE(line.starts_with("Epoch 1/5:  50%|█████     | 500/1000 ")) << line;
  EXPECT_TRUE(line.ends_with(", val_acc: 88.95%]")) << line;
  EXPECT_GT(Columns(line), 110u);
  EXPECT_EQ(Line(state, {.live = true, .columns = 200}), line);
  EXPECT_EQ(Columns(Line(state, {.live = true, .columns = 115})), 115u);
  EXPECT_EQ(Line(state, {.columns = 20}), line);
}

TEST(ProgressTest, PlainCharactersWhereUnicodeIsMissing) {
  EXPECT_EQ(Line({"T", 5, 10, 1, ""}, {.columns = 50, .unicode = false}),
            "T:  50%|#####     | 5/10 [00:01<00:01, 5.00 samples/s]");
}

TEST(ProgressTest, NothingDoneHasNoRate) {
  EXPECT_EQ(Line({"T", 0, 10, 5, ""}, {.columns = 0}),
            "T:   0%|          | 0/10 [00:05<?, ? samples/s]");
  EXPECT_EQ(Line({"T", 0, 0, 0, ""}, {.columns = 0}),
            "T: 100%|██████████| 0/0 [00:00<?, ? samples/s]");
}

TEST(ProgressTest, DurationsGrowHours) {
  EXPECT_EQ(FormatDuration(0), "00:00");
  EXPECT_EQ(FormatDuration(59.9), "00:59");
  EXPECT_EQ(FormatDuration(187), "03:07");
  EXPECT_EQ(FormatDuration(3599), "59:59");
  EXPECT_EQ(FormatDuration(3787), "1:03:07");
  EXPECT_EQ(FormatDuration(360000), "100:00:00");
  EXPECT_EQ(FormatDuration(-1), "00:00");
}

TEST(ProgressTest, EpochsAlignToTheLast) {
  EXPECT_EQ(EpochDescription(1, 5), "Epoch 1/5");
  EXPECT_EQ(EpochDescription(1, 50), "Epoch  1/50");
  EXPECT_EQ(EpochDescription(50, 50), "Epoch 50/50");
  EXPECT_EQ(EpochDescription(7, 100), "Epoch   7/100");
}

// A bar over a string, its time set by hand.
class ProgressBarTest : public ::testing::Test {
 protected:
  int Draws() const { return std::ranges::count(out_.str(), '\r'); }

  double now_ = 100;
  std::ostringstream out_;
};

constexpr auto kNone = [](std::string&) {};

TEST_F(ProgressBarTest, RedrawsAtMostTenTimesASecond) {
  ProgressBar bar("Testing", 1000, {.live = true}, out_, [this] { return now_; });
  int asked = 0;
  for (int i = 0; i < 1000; ++i) {
    now_ += 0.001;
    bar.Advance(1, [&](std::string&) { ++asked; });
  }
  EXPECT_GE(asked, 8);
  EXPECT_LE(asked, 10);
  EXPECT_EQ(Draws(), asked + 1);  // the first one is drawn at the start
  bar.Finish(kNone);
  EXPECT_EQ(Draws(), asked + 2);
}

TEST_F(ProgressBarTest, WritesOnlyTheFinalStateIntoFiles) {
  ProgressBar bar("Testing", 10, {.columns = 0}, out_, [this] { return now_; });
  for (int i = 0; i < 10; ++i) {
    now_ += 1;
    bar.Advance(1, [](std::string&) { FAIL(); });
  }
  EXPECT_EQ(out_.str(), "");
  bar.Finish([](std::string& text) { text += "acc: 12.50%"; });
  bar.Finish(kNone);
  EXPECT_EQ(out_.str(),
            "Testing: 100%|██████████| 10/10 [00:10<00:00, 1.00 samples/s, acc: 12.50%]\n");
}

TEST_F(ProgressBarTest, TimeAfterTheLastStepDoesNotCount) {
  ProgressBar bar("Testing", 10, {.columns = 0}, out_, [this] { return now_; });
  now_ += 2;
  bar.Advance(10, kNone);
  now_ += 50;
  bar.Finish(kNone);
  EXPECT_EQ(out_.str(), "Testing: 100%|██████████| 10/10 [00:02<00:00, 5.00 samples/s]\n");
}

TEST_F(ProgressBarTest, AbandonedBarEndsItsLineOnATerminalOnly) {
  {
    ProgressBar bar("Testing", 10, {.live = true}, out_, [this] { return now_; });
  }
  EXPECT_TRUE(out_.str().ends_with("\x1b[K\n"));
  std::ostringstream file;
  {
    ProgressBar bar("Testing", 10, {}, file, [this] { return now_; });
  }
  EXPECT_EQ(file.str(), "");
}

TEST_F(ProgressBarTest, RedrawingAllocatesNothing) {
  std::ostream nowhere(nullptr);
  ProgressBar bar("Testing", 1000, {.live = true}, nowhere, [this] { return now_; });
  int drawn = 0;
  const auto metrics = [&](std::string& text) {
    text += "cce: 0.5000000, acc: 74.20%";
    ++drawn;
  };
  const testing::AllocationCounter counter;
  for (int i = 0; i < 100; ++i) {
    now_ += 1;
    bar.Advance(1, metrics);
  }
  EXPECT_EQ(counter.count(), 0);
  EXPECT_EQ(drawn, 100);
}

TEST_F(ProgressBarTest, FinalStateIsNeverCut) {
  ProgressBar bar("Testing", 10, {.live = true, .columns = 20}, out_, [this] { return now_; });
  now_ += 1;
  bar.Advance(10, kNone);
  out_.str("");
  bar.Finish([](std::string& text) { text += "acc: 12.50%"; });
  EXPECT_EQ(
      out_.str(),
      "\rTesting: 100%|██████████| 10/10 [00:01<00:00, 10.00 samples/s, acc: 12.50%]\x1b[K\n");
}

TEST_F(ProgressBarTest, LiveLineStartsOverAndErasesItsRest) {
  {
    ProgressBar bar("T", 10, {.live = true, .columns = 60}, out_, [this] { return now_; });
    bar.Finish(kNone);
  }
  const std::string text = out_.str();
  EXPECT_TRUE(text.starts_with("\rT:   0%|"));
  EXPECT_TRUE(text.ends_with("\x1b[K\n"));
}

TEST(DisplayTest, FilesAreNotLive) {
  std::FILE* file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  const Display display = DetectDisplay(fileno(file));
  EXPECT_FALSE(display.live);
  EXPECT_EQ(display.columns, 110);
  std::fclose(file);
}

}  // namespace
}  // namespace dtnn
