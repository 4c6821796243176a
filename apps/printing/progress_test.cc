#include "apps/printing/progress.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string_view>

#include "gtest/gtest.h"
#include "tools/testing/count_allocations.h"

namespace dtnn {
namespace {

std::string Line(const ProgressState& state, const Display& display) {
  std::string line;
  AppendProgress(state, display, /*cut=*/true, line);
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
  for (int columns = 45; columns <= 110; ++columns) {
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

TEST(ProgressTest, NarrowTerminalsLoseTheBarThenTheTimesAndTheMetricsLast) {
  const auto line = [](int columns) { return Line(kHalf, {.live = true, .columns = columns}); };
  EXPECT_EQ(line(78),
            "Epoch 1/5:  50%|██  | 500/1000 [00:02<00:02, 250.00 samples/s, cce: 0.5000000]");
  EXPECT_EQ(line(77),
            "Epoch 1/5:  50%|██████████▄          | 500/1000 [00:02<00:02, cce: 0.5000000]");
  EXPECT_EQ(line(60), "Epoch 1/5:  50%|██  | 500/1000 [00:02<00:02, cce: 0.5000000]");
  EXPECT_EQ(line(59), "Epoch 1/5:  50%|██████      | [00:02<00:02, cce: 0.5000000]");
  EXPECT_EQ(line(51), "Epoch 1/5:  50%|██  | [00:02<00:02, cce: 0.5000000]");
  EXPECT_EQ(line(50), "Epoch 1/5:  50%|████████        | [cce: 0.5000000]");
  EXPECT_EQ(line(38), "Epoch 1/5:  50%|██  | [cce: 0.5000000]");
  EXPECT_EQ(line(37), "Epoch 1/5:  50% [cce: 0.5000000]");
  EXPECT_EQ(line(32), "Epoch 1/5:  50% [cce: 0.5000000]");
  EXPECT_EQ(line(31), "Epoch 1/5: cce: 0.5000000");
  EXPECT_EQ(line(25), "Epoch 1/5: cce: 0.5000000");
  EXPECT_EQ(line(20), "Epoch 1/5: cce: 0.50");
  EXPECT_EQ(line(1), "E");
}

TEST(ProgressTest, NoLineIsLongerThanTheTerminal) {
  ProgressState state = kHalf;
  for (const char* metrics : {"", "cce: 0.5000000, acc: 74.20%",
                              "cce: 0.5, acc: 74.20%, val_cce: 0.4, val_acc: 88.95%"}) {
    state.metrics = metrics;
    for (int columns = 1; columns <= 150; ++columns) {
      const std::string line = Line(state, {.live = true, .columns = columns});
      EXPECT_LE(Columns(line), size_t(columns)) << line;
      const bool fits =
          std::string_view("Epoch 1/5: ").size() + state.metrics.size() <= size_t(columns);
      EXPECT_EQ(line.find(metrics) != line.npos, fits || state.metrics.empty()) << line;
    }
  }
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
  EXPECT_EQ(Columns(Line(state, {.live = true, .columns = 113})), 113u);
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

TEST(ProgressTest, NothingIsLeftOnlyAtTheEnd) {
  EXPECT_NE(Line({"T", 999, 1000, 2, ""}, {}).find("[00:02<00:01, "), std::string::npos);
  EXPECT_NE(Line({"T", 1000, 1000, 2, ""}, {}).find("[00:02<00:00, "), std::string::npos);
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
  EXPECT_EQ(EpochDescription(10, 9), "Epoch 10/9");
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

TEST_F(ProgressBarTest, FinalMetricsAreNeverCut) {
  for (const int columns : {27, 10}) {
    ProgressBar bar("Testing", 10, {.live = true, .columns = columns}, out_,
                    [this] { return now_; });
    now_ += 1;
    bar.Advance(10, kNone);
    out_.str("");
    bar.Finish([](std::string& text) { text += "acc: 12.50%"; });
    EXPECT_EQ(out_.str(), columns == 27 ? "\rTesting: 100% [acc: 12.50%]\x1b[K\n"
                                        : "\rTesting: acc: 12.50%\x1b[K\n");
  }
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

// A terminal of the test's own.
class Terminal {
 public:
  Terminal() : master_(posix_openpt(O_RDWR | O_NOCTTY)) {
    if (grantpt(master_) != 0 || unlockpt(master_) != 0) return;
    terminal_ = open(ptsname(master_), O_RDWR | O_NOCTTY);
  }
  ~Terminal() {
    close(terminal_);
    close(master_);
  }
  bool there() const { return terminal_ >= 0; }
  int file() const { return terminal_; }
  void Resize(int columns) const {
    winsize size = {};
    size.ws_col = static_cast<unsigned short>(columns);
    ASSERT_EQ(ioctl(master_, TIOCSWINSZ, &size), 0);
  }

 private:
  const int master_;
  int terminal_ = -1;
};

TEST_F(ProgressBarTest, FollowsTheSizeOfTheTerminal) {
  setenv("TERM", "xterm", 1);
  setenv("LC_ALL", "C.UTF-8", 1);
  const Terminal terminal;
  if (!terminal.there()) GTEST_SKIP() << "no pseudo-terminals here: /dev/pts is not mounted";
  terminal.Resize(120);
  const Display display = DetectDisplay(terminal.file());
  ASSERT_TRUE(display.live);
  ProgressBar bar("Epoch 1/5", 1000, display, out_, [this] { return now_; });
  const auto metrics = [](std::string& text) { text += "cce: 0.5000000, acc: 74.20%"; };
  for (const int columns : {120, 100, 80, 60, 45, 40, 200, 80}) {
    terminal.Resize(columns);
    out_.str("");
    now_ += 1;
    bar.Advance(100, metrics);
    const std::string line = out_.str().substr(1, out_.str().size() - 4);
    EXPECT_TRUE(out_.str().starts_with("\r") && out_.str().ends_with("\x1b[K"));
    EXPECT_LT(Columns(line), size_t(columns)) << line;
    EXPECT_GE(Columns(line), size_t(std::min(columns, 111) - 10)) << line;
    EXPECT_NE(line.find("cce: 0.5000000, acc: 74.20%"), line.npos) << line;
    EXPECT_EQ(line.find("█") != line.npos, columns >= 60) << line;
  }
  terminal.Resize(60);
  out_.str("");
  bar.Finish(metrics);
  EXPECT_EQ(Columns(out_.str()), 1 + 59 + 4) << out_.str();
}

TEST(DisplayTest, TerminalsThatDoNotKnowTheirSizeHaveTheCommonOne) {
  const Terminal terminal;
  if (!terminal.there()) GTEST_SKIP() << "no pseudo-terminals here: /dev/pts is not mounted";
  EXPECT_EQ(TerminalColumns(terminal.file()), 79);
  terminal.Resize(1);
  EXPECT_EQ(TerminalColumns(terminal.file()), 1);
}

// A log that is read in another locale would show three strange characters per block.
TEST(DisplayTest, FilesHaveBarsThatTheirLocaleShows) {
  std::FILE* file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  for (const auto& [locale, unicode] : {std::pair("C", false),
                                        {"POSIX", false},
                                        {"de_DE.ISO-8859-1", false},
                                        {"C.UTF-8", true},
                                        {"en_US.utf8", true}}) {
    setenv("LC_ALL", locale, 1);
    const Display found = DetectDisplay(fileno(file));
    EXPECT_EQ(found.unicode, unicode) << locale;
    for (const char* choice : {"auto", "line", "bar"}) {
      EXPECT_EQ(ChooseDisplay(choice, found).unicode, unicode) << locale << " " << choice;
    }
  }
  std::fclose(file);
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
