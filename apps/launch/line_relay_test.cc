#include "apps/launch/line_relay.h"

#include <sstream>
#include <string>

#include "apps/program/json_lines.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace dtnn {
namespace {

TEST(LineRelayTest, OnlyWholeLinesArePassedOn) {
  std::ostringstream out;
  LineRelay one("[0] ", out), other("[1] ", out);
  one.Take("half");
  other.Take("first\n\nsec");
  EXPECT_EQ(out.str(), "[1] first\n[1] \n");
  one.Take(" and half\n");
  other.Take("ond");
  other.Finish();
  other.Finish();
  EXPECT_EQ(out.str(), "[1] first\n[1] \n[0] half and half\n[1] second\n");
}

// What has been flushed.
class FlushedText : public std::stringbuf {
 public:
  std::string flushed;

 private:
  int sync() override {
    flushed = str();
    return 0;
  }
};

TEST(LineRelayTest, LinesAreSeenAtOnce) {
  FlushedText text;
  std::ostream out(&text);
  LineRelay relay("", out);
  relay.Take("first\nsec");
  EXPECT_EQ(text.flushed, "first\n");
  relay.Finish();
  EXPECT_EQ(text.flushed, "first\nsec\n");
}

TEST(LineRelayTest, LinesOfJsonAreObjectsOfTheRank) {
  std::stringbuf written;
  JsonLines lines(written, {.program = "launch"}, Severity::kInfo);
  std::ostream out(&lines);
  LineRelay relay("[7] ", out, 7);
  relay.Take("{\"message\": \"own\"}\nplain\nlast");
  relay.Finish();
  std::istringstream text(written.str());
  std::string line;
  ASSERT_TRUE(std::getline(text, line));
  EXPECT_EQ(line, "{\"message\": \"own\"}");
  for (const char* message : {"plain", "last"}) {
    ASSERT_TRUE(std::getline(text, line));
    const nlohmann::json object = nlohmann::json::parse(line);
    EXPECT_EQ(object["message"], message);
    EXPECT_EQ(object["rank"], 7);
    EXPECT_EQ(object["program"], "launch");
  }
  EXPECT_FALSE(std::getline(text, line));
}

// The longest message of a rank, all of it escaped.
TEST(LineRelayTest, TheLongestObjectOfARankStaysWhole) {
  std::stringbuf of_rank, of_launch;
  JsonLines rank(of_rank, {.program = "benchmark", .rank = 7}, Severity::kInfo);
  std::ostream(&rank) << std::string(JsonLines::kMostBytes, '\x01') << "\n";
  JsonLines launch(of_launch, {.program = "launch"}, Severity::kInfo);
  std::ostream out(&launch);
  LineRelay("", out, 7).Take(of_rank.str());
  EXPECT_GT(of_rank.str().size(), 6 * JsonLines::kMostBytes);
  EXPECT_EQ(of_launch.str(), of_rank.str());
}

TEST(LineRelayTest, HoweverLongALineIsMemoryIsNot) {
  std::ostringstream out;
  LineRelay relay("", out);
  const size_t most = LineRelay::kMostBytes;
  for (const char letter : {'a', 'b', 'c'}) relay.Take(std::string(most / 2, letter));
  const std::string half_a(most / 2, 'a'), half_b(most / 2, 'b'), half_c(most / 2, 'c');
  EXPECT_EQ(out.str(), half_a + half_b + "\n");
  relay.Take("\n");
  EXPECT_EQ(out.str(), half_a + half_b + "\n" + half_c + "\n");
  // A line of just that length is not followed by an empty one.
  relay.Take(half_a + half_b + "\nx\n");
  EXPECT_TRUE(out.str().ends_with("\n" + half_a + half_b + "\nx\n"));
}

}  // namespace
}  // namespace dtnn
