#include "examples/deploy/checks.h"

#include <set>

#include "apps/aggregator/aggregator_flags.h"
#include "apps/flags/parser.h"
#include "apps/flags/tool_flags.h"
#include "apps/printing/name_lists.h"
#include "comm/ranks/job/job_environment.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn::testing {

using ::testing::IsEmpty;

std::string OptionOf(const Words& words, const std::string& name) {
  for (const std::string& word : words) {
    if (word.starts_with("--" + name + "=")) return word.substr(name.size() + 3);
  }
  return "";
}

void ExpectValid(Words words) {
  ASSERT_FALSE(words.empty());
  const std::string program = words[0];
  words.erase(words.begin());
  if (program == "benchmark") {
    const absl::StatusOr<CommandLine> line = ParseFlags(words);
    ASSERT_TRUE(line.ok()) << line.status();
    EXPECT_THAT(line->warnings, IsEmpty());
    EXPECT_TRUE(CheckModelName(line->options.network.name).ok());
    return;
  }
  ASSERT_EQ(program, "aggregator");
  AggregatorFlags flags;
  const absl::StatusOr<ToolRequest> request = ParseToolFlags(words, OptionsOf(flags));
  ASSERT_TRUE(request.ok()) << request.status();
  FollowData(flags);
  EXPECT_EQ(CheckAggregatorFlags(flags), absl::OkStatus());
  EXPECT_TRUE(CheckModelName(flags.run.network.name).ok());
}

void ExpectPlaces(const std::map<std::string, ProgramCall>& calls, int ranks, Transport transport) {
  ASSERT_EQ(calls.size(), size_t(ranks));
  std::set<int> found;
  std::set<std::string> meetings;
  for (const auto& [key, call] : calls) {
    ExpectValid(call.arguments);
    const auto get = [&call](const char* name) { return call.Get(name); };
    const LaunchPlace place = FindLaunchPlace({}, get);
    EXPECT_TRUE(place.launched) << key;
    EXPECT_EQ(place.ranks, ranks);
    EXPECT_EQ(place.transport, transport);
    found.insert(place.rank);
    if (transport == Transport::kMpi) continue;
    const absl::StatusOr<JobEnvironment> job = FindJob(place, get);
    ASSERT_TRUE(job.ok()) << job.status();
    meetings.insert(job->rendezvous.address.ToString());
  }
  EXPECT_EQ(found.size(), size_t(ranks));
  EXPECT_EQ(meetings.size(), transport == Transport::kMpi ? 0 : 1);
}

}  // namespace dtnn::testing
