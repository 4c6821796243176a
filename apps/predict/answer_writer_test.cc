#include "apps/predict/answer_writer.h"

#include <algorithm>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace dtnn {
namespace {

std::string Written(std::string_view format, std::optional<OutputKind> kind,
                    const std::vector<std::vector<Prediction>>& answers) {
  std::ostringstream out;
  AnswerWriter writer(format, kind, out);
  for (const std::vector<Prediction>& best : answers) writer.Write("a \"b\",c.png", best);
  writer.WriteError("bad.png", "is a folder");
  writer.Finish();
  return out.str();
}

const std::vector<Prediction> kTwo = {{7, "cat, wild", 0.75}, {2, "dog", 0.125}};

TEST(AnswerWriterTest, TextHasPercentOrValues) {
  EXPECT_EQ(Written("text", OutputKind::kClasses, {kTwo, {}}),
            "a \"b\",c.png: cat, wild 75.00 %, dog 12.50 %\n"
            "a \"b\",c.png: no label\n");
  EXPECT_EQ(Written("text", OutputKind::kValues, {{{0, "speed", 12.3456789}, {1, "x", -1}}}),
            "a \"b\",c.png: speed 12.3457, x -1\n");
}

TEST(AnswerWriterTest, TablesHaveARankOrTheNumberOfTheOutput) {
  EXPECT_EQ(Written("csv", OutputKind::kClasses, {kTwo, {}}),
            "file,rank,class,probability\n"
            "\"a \"\"b\"\",c.png\",1,\"cat, wild\",0.75\n"
            "\"a \"\"b\"\",c.png\",2,dog,0.125\n");
  EXPECT_EQ(Written("csv", OutputKind::kValues, {kTwo}),
            "file,output,name,value\n"
            "\"a \"\"b\"\",c.png\",7,\"cat, wild\",0.75\n"
            "\"a \"\"b\"\",c.png\",2,dog,0.125\n");
}

TEST(AnswerWriterTest, JsonHasErrorsToo) {
  const std::string text = Written("json", OutputKind::kClasses, {kTwo});
  EXPECT_EQ(text.substr(0, text.find("\"predictions\"")), "[\n{\"file\": \"a \\\"b\\\",c.png\", ");
  EXPECT_TRUE(text.ends_with(",\n{\"file\": \"bad.png\", \"error\": \"is a folder\"}\n]\n"))
      << text;
  EXPECT_EQ(Written("json", OutputKind::kClasses, {}),
            "[\n{\"file\": \"bad.png\", \"error\": \"is a folder\"}\n]\n");
}

TEST(AnswerWriterTest, MasksAreTheNamesOfFiles) {
  const auto written = [](std::string_view format) {
    std::ostringstream out;
    AnswerWriter writer(format, std::nullopt, out);
    writer.WriteMask("a,b.png", "out/a.png");
    writer.WriteMask("c.png", "line\nbreak.png");
    writer.Finish();
    return out.str();
  };
  EXPECT_EQ(written("csv"), "file,mask\n\"a,b.png\",out/a.png\nc.png,\"line\nbreak.png\"\n");
  EXPECT_EQ(written("json"),
            "[\n{\"file\": \"a,b.png\", \"mask\": \"out/a.png\"},\n"
            "{\"file\": \"c.png\", \"mask\": \"line\\nbreak.png\"}\n]\n");
  const std::string text = written("text");
  EXPECT_TRUE(text.starts_with("a,b.png: out/a.png\nc.png: ")) << text;
  EXPECT_EQ(std::ranges::count(text, '\n'), 2) << "a line each";
}

}  // namespace
}  // namespace dtnn
