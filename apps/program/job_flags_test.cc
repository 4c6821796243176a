#include "apps/program/job_flags.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace dtnn {
namespace {

RankOptions Read(const std::vector<std::string>& arguments) { return JobFlags(arguments); }

TEST(JobFlagsTest, WithoutThemNothingIsChosen) {
  EXPECT_EQ(Read({"--model=simplecnn", "--transport=auto", "--rendezvous="}), RankOptions());
}

TEST(JobFlagsTest, AreUnderstoodAsTheParserDoes) {
  EXPECT_EQ(Read({"--nonsense", "--transport=mpi", "--transport", "TCP", "--rendezvous", "node1:1",
                  "--", "--transport=mpi"}),
            (RankOptions{.transport = Transport::kTcp, .rendezvous = "node1:1"}));
  EXPECT_EQ(Read({"--rendezvous=[::1]:5000", "--elastic=1:4"}),
            (RankOptions{.rendezvous = "[::1]:5000", .elastic = "1:4"}));
}

TEST(JobFlagsTest, AWrongValueIsLeftToTheParser) {
  EXPECT_EQ(Read({"--transport=tcp", "--rendezvous=node1", "--elastic=3:1"}),
            RankOptions{.transport = Transport::kTcp});
  EXPECT_EQ(Read({"--transport=pigeon"}), RankOptions());
  EXPECT_EQ(Read({"--transport"}), RankOptions());
}

TEST(JobFlagsTest, ThatRanksComeAndGoIsSaidByEither) {
  std::vector<std::string> arguments = {"--model=simplecnn", "--", "x"};
  AddElastic({}, arguments);
  EXPECT_EQ(arguments.size(), 3u);
  AddElastic({.elastic = "2:4"}, arguments);
  EXPECT_EQ(arguments, (std::vector<std::string>{"--model=simplecnn", "--elastic=2:4", "--", "x"}));
  arguments = {"--elastic", "1:3"};
  AddElastic({.elastic = "2:4"}, arguments);
  EXPECT_EQ(arguments.size(), 2u);
}

}  // namespace
}  // namespace dtnn
