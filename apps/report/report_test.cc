#include <fstream>
#include <sstream>
#include <string>

#include "apps/report/run.h"
#include "apps/testing/process.h"
#include "comm/ranks/job/exit_code.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/observe/report/testing/page_checker.h"

namespace dtnn {
namespace {

using ::dtnn::testing::CheckFragment;
using ::dtnn::testing::CheckPage;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

std::string Path(const std::string& name) { return ::testing::TempDir() + "/" + name; }

std::string Write(const std::string& name, const std::string& text) {
  std::ofstream(Path(name)) << text;
  return Path(name);
}

std::string Read(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

dtnn::testing::Outcome Report(const std::string& arguments) {
  return dtnn::testing::Launch("apps/report/report", arguments);
}

std::string OneRun() {
  return Write("one.csv", "epoch,learning_rate,mse,val_mse\n1,0.1,3,4\n2,0.1,1,2\n");
}
std::string OtherRun() {
  return Write("other.jsonl", "{\"epoch\": 1, \"learning_rate\": 0.2, \"mse\": 7}\n");
}

TEST(ReportTest, PrintsATable) {
  const auto outcome = Report(OneRun() + " " + OtherRun());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
  EXPECT_THAT(outcome.text, HasSubstr("  mse  "));
  EXPECT_THAT(outcome.text, HasSubstr("/other.jsonl"));
}

TEST(ReportTest, OnlyItsOwnFilesAreWrittenOver) {
  for (const char* const name : {"again.html", "again.svg"}) {
    const std::string to = OneRun() + " --output=" + Path(name);
    EXPECT_EQ(Report(to).exit_code, 0) << name;
    EXPECT_EQ(Report(to).exit_code, 0) << name;
    for (const char* const foreign :
         {"<!DOCTYPE html>\n<p>thesis", "<svg xmlns=\"a\"><g/></svg>"}) {
      Write(name, foreign);
      const auto outcome = Report(to);
      EXPECT_EQ(outcome.exit_code, 1) << outcome.text;
      EXPECT_THAT(outcome.text, HasSubstr("report: --output: " + Path(name)));
      EXPECT_EQ(Read(Path(name)), foreign);
    }
  }
}

TEST(ReportTest, WritesAPageOrAPicture) {
  const auto page = Report(OneRun() + " " + OtherRun() + " --output=" + Path("runs.html"));
  EXPECT_EQ(page.exit_code, 0) << page.text;
  EXPECT_EQ(page.text, "Wrote " + Path("runs.html") + ", 2 runs\n");
  EXPECT_THAT(CheckPage(Read(Path("runs.html"))).problems, IsEmpty());
  const auto picture = Report(OneRun() + " --output=" + Path("runs.svg"));
  EXPECT_EQ(picture.exit_code, 0) << picture.text;
  const auto checked = CheckFragment(Read(Path("runs.svg")));
  EXPECT_THAT(checked.problems, IsEmpty());
  EXPECT_EQ(checked.root.All("title")[0]->text, "val mse");
  EXPECT_EQ(Report(OneRun() + " --metric=mse --output=" + Path("mse.svg")).exit_code, 0);
  EXPECT_EQ(CheckFragment(Read(Path("mse.svg"))).root.All("title")[0]->text, "mse");
  const auto rate = Report(OneRun() + " --metric=learning_rate --output=" + Path("rate.svg"));
  EXPECT_EQ(rate.exit_code, 0) << rate.text;
  EXPECT_EQ(CheckFragment(Read(Path("rate.svg"))).root.All("title")[0]->text, "learning rate");
}

TEST(ReportTest, WrongUseAndWrongFilesAreErrors) {
  const auto none = Report("");
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.text, HasSubstr("no runs: name their histories (.csv or .jsonl, of benchmark "
                                   "--history-file) or their checkpoints"));
  const auto table = Report(OneRun() + " --metric=mse");
  EXPECT_EQ(table.exit_code, 2);
  EXPECT_THAT(table.text, HasSubstr("--metric: needs --output=FILE.svg; a page shows all metrics"));
  const auto page = Report(OneRun() + " --metric=mse --output=" + Path("metric.html"));
  EXPECT_EQ(page.exit_code, 2);
  const auto ending = Report(OneRun() + " --output=x.pdf");
  EXPECT_EQ(ending.exit_code, 2);
  EXPECT_THAT(ending.text, HasSubstr("must be .html for a page or .svg for a picture"));
  const auto metric = Report(OneRun() + " --metric=nothing --output=" + Path("x.svg"));
  EXPECT_EQ(metric.exit_code, 2);
  EXPECT_THAT(metric.text, HasSubstr("there are learning_rate, mse, val_mse"));
  const auto missing = Report(Path("missing.csv"));
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_THAT(missing.text, StartsWith("report: " + Path("missing.csv")));
  EXPECT_EQ(Report(Write("bad.csv", "what is this")).exit_code, 1);
  EXPECT_THAT(Report(Write("image.csv", "\xff\xd8\xff\xe0")).text,
              HasSubstr("image.csv: is a JPEG image, which predict classifies; expected a history "
                        "(.csv, .jsonl), a checkpoint or a saved model (.npz, .safetensors), or a "
                        "folder with them\n"));
  EXPECT_EQ(Report(OneRun() + " --output=/no/such/x.html").exit_code, 1);
  EXPECT_EQ(Report("--help").exit_code, 0);
}

}  // namespace
}  // namespace dtnn
