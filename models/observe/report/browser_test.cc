// Pages as a browser shows them: nothing to complain about, and something to see at the width of a
// screen and of a phone, in light and in dark, and on paper.

#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <set>
#include <string>

#include "data/images/image.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/observe/report/comparison.h"
#include "models/observe/report/run_report.h"
#include "tensor/files/atomic_file.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kBrowser[] = "/usr/bin/chromium";

RunReport Filled() {
  RunReport report;
  report.facts = {.network = "simplecnn",
                  .sentence = "simplecnn learns mnist.",
                  .machine = "a machine",
                  .command = "benchmark --model=simplecnn",
                  .class_names = {"cat", "dog"}};
  report.state = ReportState::kDone;
  for (int i = 1; i <= 30; ++i) {
    report.epochs.push_back({.epoch = i,
                             .metrics = {{"mse", 1.0 / i}, {"val_mse", 1.1 / i}},
                             .learning_rate = 0.1,
                             .samples_per_second = 1000.0 + i});
  }
  report.confusion = {.classes = 2, .counts = {10, 2, 3, 40}};
  report.wrong_images = {{.truth = 0,
                          .predicted = 1,
                          .certainty = 0.5,
                          .image = {.extents = {1, 2, 1}, .pixels = {7, 200}}}};
  report.buffers = {{.name = "1_Conv2D", .bytes = 1024, .offset = 0, .first = 0, .last = 3}};
  report.moments = 6;
  return report;
}

// What the browser says.
std::string Browse(const std::string& arguments) {
  static int runs = 0;
  const std::string home = StrCat(::testing::TempDir(), "/browser", ++runs);
  std::filesystem::create_directories(home);
  const std::string command =
      StrCat("HOME=", home, " ", kBrowser, " --headless=new --no-sandbox --disable-gpu ",
             "--disable-dev-shm-usage --hide-scrollbars --user-data-dir=", home,
             " --enable-logging=stderr ", arguments, " 2>&1");
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return "popen failed";
  std::string text;
  std::array<char, 4096> buffer;
  while (const size_t count = fread(buffer.data(), 1, buffer.size(), pipe)) {
    text.append(buffer.data(), count);
  }
  EXPECT_EQ(pclose(pipe), 0) << text;
  return text;
}

Image ReadPng(const std::string& path) {
  const auto bytes = ReadFile(path, int64_t{1} << 26);
  if (!bytes.ok()) return {};
  const auto image =
      DecodeImage(std::span(reinterpret_cast<const uint8_t*>(bytes->data()), bytes->size()), path);
  return image.ok() ? *image : Image{};
}

class BrowserTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (access(kBrowser, X_OK) != 0) {
      GTEST_SKIP() << "no Chromium; ./setup.sh --dev installs it";
    }
  }

  std::string Write(const std::string& name, const std::string& html) {
    const std::string path = ::testing::TempDir() + "/" + name;
    EXPECT_TRUE(WriteFileAtomically(path, std::as_bytes(std::span(std::string_view(html)))).ok());
    return path;
  }

  // A picture of the page; `more`: arguments.
  Image Shoot(const std::string& page, int width, const std::string& more) {
    const std::string png = StrCat(page, width, more.empty() ? "" : "-other", ".png");
    const std::string said = Browse(
        StrCat("--window-size=", width, ",2000 --screenshot=", png, " ", more, " file://", page));
    EXPECT_THAT(said, Not(HasSubstr("CONSOLE"))) << said;
    return ReadPng(png);
  }
};

double Brightness(const Image& image) {
  double sum = 0;
  for (const uint8_t pixel : image.pixels) sum += pixel;
  return sum / double(image.pixels.size());
}

size_t Colours(const Image& image) {
  std::set<std::array<uint8_t, 3>> colours;
  for (size_t i = 0; i + 2 < image.pixels.size(); i += 3) {
    colours.insert({image.pixels[i], image.pixels[i + 1], image.pixels[i + 2]});
  }
  return colours.size();
}

TEST_F(BrowserTest, PagesShowTheirChartsAtAnyWidth) {
  const std::string run = Write("run.html", FormatRunReport(Filled()));
  const std::string runs =
      Write("runs.html", FormatComparison({{.name = "a", .epochs = Filled().epochs},
                                           {.name = "b", .epochs = Filled().epochs}}));
  for (const std::string& page : {run, runs}) {
    for (const int width : {1280, 500}) {
      const Image image = Shoot(page, width, "");
      ASSERT_EQ(image.extents, (ImageExtents{2000, width, 3})) << page;
      EXPECT_GT(Colours(image), 20u) << page;
      EXPECT_GT(Brightness(image), 200) << page << " is not light";
    }
  }
  const Image dark = Shoot(run, 1280, "--blink-settings=preferredColorScheme=0");
  EXPECT_LT(Brightness(dark), 80) << "dark where the system is";
}

TEST_F(BrowserTest, PagesCanBePrinted) {
  const std::string run = Write("paper.html", FormatRunReport(Filled()));
  const std::string pdf = run + ".pdf";
  EXPECT_THAT(Browse(StrCat("--print-to-pdf=", pdf, " file://", run)), Not(HasSubstr("CONSOLE")));
  EXPECT_GT(std::filesystem::file_size(pdf), 10'000u);
}

}  // namespace
}  // namespace dtnn
