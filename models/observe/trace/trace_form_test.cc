#include "models/observe/trace/trace_form.h"

#include "gtest/gtest.h"

namespace dtnn {
namespace {

TEST(TraceFormTest, TheEndingDecides) {
  EXPECT_EQ(TraceFormOf("a/trace.json"), TraceForm::kChrome);
  EXPECT_EQ(TraceFormOf("TRACE.JSON"), TraceForm::kChrome);
  EXPECT_EQ(TraceFormOf("t.prv"), TraceForm::kParaver);
  for (const char* path : {"trace", "a.b/trace", ".hidden", "t.csv", "t.TXT", "prueba.trc"}) {
    EXPECT_EQ(TraceFormOf(path), TraceForm::kSimple) << path;
  }
  for (const char* path : {"t.jsn", "t.", "t.json.gz"}) {
    EXPECT_EQ(TraceFormOf(path), std::nullopt) << path;
  }
}

TEST(TraceFormTest, ProfilesAreJsonOrCsv) {
  EXPECT_EQ(ProfileFormOf("p.json"), ProfileForm::kJson);
  EXPECT_EQ(ProfileFormOf("p.Csv"), ProfileForm::kCsv);
  for (const char* path : {"True", "p.txt", "json", ".json"}) {
    EXPECT_EQ(ProfileFormOf(path), std::nullopt) << path;
  }
}

TEST(TraceFormTest, RanksHaveFilesOfTheirOwn) {
  EXPECT_EQ(FileOfRank("a.b/trace.json", 3), "a.b/trace.rank3.json");
  EXPECT_EQ(FileOfRank("a.b/trace", 0), "a.b/trace.rank0");
  EXPECT_FALSE(NamesRank("rank.csv"));
  EXPECT_TRUE(NamesRank("a/t.{rank}.csv"));
  EXPECT_EQ(NumberedFile("a/t.{rank}.csv", 12), "a/t.12.csv");
  EXPECT_EQ(NumberedFile("t.csv", 12), "t.csv");
}

}  // namespace
}  // namespace dtnn
