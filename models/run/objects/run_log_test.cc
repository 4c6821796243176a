#include "models/run/objects/run_log.h"

#include <ostream>
#include <string>

#include "gtest/gtest.h"

namespace dtnn {
namespace {

struct Said {
  std::string out, err;
  friend bool operator==(const Said&, const Said&) = default;
  friend std::ostream& operator<<(std::ostream& os, const Said& said) {
    return os << "out: " << said.out << "err: " << said.err;
  }
};

RunSinks SinksTo(Said& said) {
  return {.print = [&said](std::string_view text) { said.out += text; },
          .warn = [&said](std::string_view line) { said.err += StrCat(line, "\n"); }};
}

// What a rank of two says of everything.
Said Say(const RunOptions& options, int rank, bool for_itself = false) {
  Said said;
  RunLog log(options, rank, /*ranks=*/2, SinksTo(said));
  if (for_itself) log.WarnForItself();
  log.Print("result\n");
  log.Log("told\n");
  log.LogVerbose("more\n");
  log.Warn("two\nlines");
  log.WarnOfCheckpoint("full");
  return said;
}

TEST(RunLogTest, RankZeroSpeaksForAll) {
  EXPECT_EQ(Say({}, 0), (Said{"result\ntold\n", "two\\nlines\nfull\n"}));
  EXPECT_EQ(Say({}, 1), Said());
}

TEST(RunLogTest, OfItsOwnCheckpointsARankSpeaksItself) {
  RunOptions options;
  options.ranks.shared_storage = false;
  EXPECT_EQ(Say(options, 1).err, "rank 1: full\n");
  EXPECT_EQ(Say({}, 1, /*for_itself=*/true).err, "rank 1: full\n");
}

TEST(RunLogTest, OfOtherFilesOfItsOwnToo) {
  for (const int ranks : {1, 2}) {
    Said said;
    const RunOptions options;
    RunLog(options, ranks - 1, ranks, SinksTo(said)).WarnOfRank("full");
    EXPECT_EQ(said.err, ranks == 1 ? "full\n" : "rank 1: full\n");
  }
}

TEST(RunLogTest, QuietAndVerboseDecideWhatIsTold) {
  RunOptions quiet, verbose;
  quiet.output.quiet = true;
  verbose.output.verbose = Verbosity::kYes;
  EXPECT_EQ(Say(quiet, 0).out, "result\n");
  EXPECT_EQ(Say(verbose, 0).out, "result\ntold\nmore\n");
}

TEST(RunLogTest, WithoutSinksNothingIsSaid) {
  const RunOptions options;
  RunLog log(options, 0, 1, {});
  log.Print("x\n");
  log.Warn("x");
}

}  // namespace
}  // namespace dtnn
