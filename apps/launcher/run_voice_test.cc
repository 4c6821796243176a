#include "apps/launcher/run_voice.h"

#include <sstream>

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

// What a rank of two says of everything.
Said Say(const Options& options, int rank, bool for_itself = false) {
  std::ostringstream out, err;
  RunVoice voice(options, rank, /*ranks=*/2, out, err);
  if (for_itself) voice.SpeakForItself();
  voice.out() << "result\n";
  voice.Tell("told\n");
  voice.TellMore("more\n");
  voice.Warn("two\nlines");
  voice.WarnOfCheckpoint("full");
  return {out.str(), err.str()};
}

TEST(RunVoiceTest, RankZeroSpeaksForAll) {
  EXPECT_EQ(Say({}, 0), (Said{"result\ntold\n",
                              "benchmark: warning: two\\nlines\nbenchmark: warning: full\n"}));
  EXPECT_EQ(Say({}, 1), Said());
}

TEST(RunVoiceTest, OfItsOwnCheckpointsARankSpeaksItself) {
  Options options;
  options.ranks.shared_storage = false;
  EXPECT_EQ(Say(options, 1).err, "benchmark: warning: rank 1: full\n");
  EXPECT_EQ(Say({}, 1, /*for_itself=*/true).err, "benchmark: warning: rank 1: full\n");
}

TEST(RunVoiceTest, OfOtherFilesOfItsOwnToo) {
  for (const int ranks : {1, 2}) {
    std::ostringstream out, err;
    const Options options;
    RunVoice(options, ranks - 1, ranks, out, err).WarnOfOwn("full");
    EXPECT_EQ(err.str(),
              ranks == 1 ? "benchmark: warning: full\n" : "benchmark: warning: rank 1: full\n");
  }
}

TEST(RunVoiceTest, QuietAndVerboseDecideWhatIsTold) {
  Options quiet, verbose;
  quiet.output.quiet = true;
  verbose.output.verbose = "True";
  EXPECT_EQ(Say(quiet, 0).out, "result\n");
  EXPECT_EQ(Say(verbose, 0).out, "result\ntold\nmore\n");
}

}  // namespace
}  // namespace dtnn
