#include "apps/program/json_lines.h"

#include <ctime>
#include <ostream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace dtnn {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class JsonLinesTest : public ::testing::Test {
 protected:
  std::vector<json> Objects() const {
    std::vector<json> objects;
    std::istringstream text(written_.str());
    for (std::string line; std::getline(text, line);) objects.push_back(json::parse(line));
    return objects;
  }
  std::vector<std::string> Messages() const {
    std::vector<std::string> messages;
    for (const json& object : Objects()) messages.push_back(object["message"]);
    return messages;
  }

  std::stringbuf written_;
  JsonLines lines_{written_, {.program = "prog", .rank = 3, .client = "north"}, Severity::kInfo};
  std::ostream out_{&lines_};
};

TEST_F(JsonLinesTest, EachLineIsAnObject) {
  out_ << "**** Begins " << 7 << "\n\nprog: warning: a disk is full\nsecond" << std::flush;
  EXPECT_EQ(Objects().size(), 2) << "the third has no end yet";
  lines_.Finish();
  const std::vector<json> objects = Objects();
  ASSERT_EQ(objects.size(), 3);
  EXPECT_EQ(objects[0]["message"], "Begins 7");
  EXPECT_EQ(objects[0]["severity"], "INFO");
  EXPECT_EQ(objects[0]["program"], "prog");
  EXPECT_EQ(objects[0]["rank"], 3);
  EXPECT_EQ(objects[0]["client"], "north");
  EXPECT_EQ(objects[1]["message"], "a disk is full");
  EXPECT_EQ(objects[1]["severity"], "WARNING");
  EXPECT_EQ(objects[2]["message"], "second");
}

TEST_F(JsonLinesTest, ErrorsAreWhatTheirStreamSays) {
  std::stringbuf written;
  JsonLines errors(written, {.program = "prog"}, Severity::kError);
  std::ostream(&errors) << "prog: no such file\n";
  const json object = json::parse(written.str());
  EXPECT_EQ(object["severity"], "ERROR");
  EXPECT_EQ(object["message"], "no such file");
  EXPECT_FALSE(object.contains("rank"));
  EXPECT_FALSE(object.contains("client"));
}

TEST_F(JsonLinesTest, TheTimeIsThatOfRfc3339) {
  const std::time_t before = std::time(nullptr);
  out_ << "now\n";
  const std::time_t after = std::time(nullptr);
  const std::string time = Objects()[0]["time"];
  EXPECT_TRUE(std::regex_match(time, std::regex(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z)")))
      << time;
  std::tm read = {};
  ASSERT_NE(strptime(time.c_str(), "%Y-%m-%dT%H:%M:%S", &read), nullptr);
  EXPECT_GE(timegm(&read), before);
  EXPECT_LE(timegm(&read), after);
}

// A log cannot be forged by what is in a message.
TEST_F(JsonLinesTest, NothingInALineLeavesItsText) {
  const std::string hostile =
      "\", \"severity\": \"INFO\"} \x1b[2J\r\t\x01 \xff\xfe \\ \xe2\x82\xac";
  out_ << hostile << "\n";
  EXPECT_THAT(written_.str(), ::testing::Not(::testing::ContainsRegex("[\x01-\x09\x0b-\x1f]")));
  EXPECT_THAT(Messages()[0], HasSubstr("\", \"severity\": \"INFO\"} \x1b[2J\r\t\x01 "));
  EXPECT_THAT(Messages()[0], HasSubstr("\\xff\\xfe"));
  EXPECT_EQ(std::ranges::count(written_.str(), '\n'), 1);
}

TEST_F(JsonLinesTest, FieldsStandBesideTheMessage) {
  const LogField fields[] = {{"epoch", "4"}, {"loss", "0.25"}, {"metrics", "{\"a\": null}"}};
  lines_.Write(Severity::kInfo, "**** Epoch 4\n", fields);
  const json object = Objects()[0];
  EXPECT_EQ(object["message"], "Epoch 4");
  EXPECT_EQ(object["epoch"], 4);
  EXPECT_EQ(object["loss"], 0.25);
  EXPECT_TRUE(object["metrics"]["a"].is_null());
}

TEST_F(JsonLinesTest, ObjectsOfOthersStayWhole) {
  const std::string own = "{\"message\": \"mine\", \"rank\": 9}";
  lines_.Relay(own, 1);
  lines_.Relay("{not json", 1);
  lines_.Relay("[1, 2]", 1);
  lines_.Relay("benchmark: warning: hot", 2);
  lines_.Relay("", 1);
  EXPECT_TRUE(written_.str().starts_with(own + "\n"));
  const std::vector<json> objects = Objects();
  ASSERT_EQ(objects.size(), 4);
  EXPECT_EQ(objects[3]["severity"], "WARNING");
  EXPECT_EQ(objects[1]["message"], "{not json");
  EXPECT_EQ(objects[1]["rank"], 1);
  EXPECT_EQ(objects[2]["message"], "[1, 2]");
}

TEST_F(JsonLinesTest, HoweverLongALineIsMemoryIsNot) {
  for (int i = 0; i < 3; ++i) out_ << std::string(4096, 'x');
  out_ << "\n";
  const std::vector<std::string> messages = Messages();
  ASSERT_EQ(messages.size(), 2);
  EXPECT_EQ(messages[0].size(), 8192);
  EXPECT_EQ(messages[1].size(), 4096);
}

TEST_F(JsonLinesTest, PiecesOfThreadsDoNotMix) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      std::ostream out(&lines_);
      for (int i = 0; i < 300; ++i) out << "**** " << std::string(20, char('a' + t)) << i << "\n";
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::vector<std::string> messages = Messages();
  EXPECT_EQ(messages.size(), 1200);
  EXPECT_EQ(std::set<std::string>(messages.begin(), messages.end()).size(), 1200);
  for (const std::string& message : messages) {
    EXPECT_EQ(message.find_first_not_of(message[0]), 20) << message;
  }
}

TEST_F(JsonLinesTest, ObjectsOfThreadsDoNotMix) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      for (int i = 0; i < 100; ++i) {
        lines_.Write(Severity::kInfo, std::string(size_t(100 + t), char('a' + t)));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Objects().size(), 400);
}

}  // namespace
}  // namespace dtnn
