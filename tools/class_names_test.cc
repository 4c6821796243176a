#include "tools/class_names.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn::layering {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> Names(std::string_view text) {
  std::vector<std::string> names;
  for (const ClassName& found : ClassesIn(text)) names.push_back(found.name);
  return names;
}

TEST(ClassNamesTest, NamesAreQualified) {
  EXPECT_THAT(
      Names("namespace dtnn::tls {\n"
            "class A : public B<int> {\n"
            "  struct C final {};\n"
            "  enum class D : uint8_t { kOne };\n"
            "  void F() {}\n"
            " private:\n"
            "  union alignas(64) E { int x; };\n"
            "};\n"
            "struct [[nodiscard]] A::G {};\n"
            "template <class T, typename U = std::vector<T>>\n"
            "struct H {};\n"
            "template <>\n"
            "struct H<int, std::vector<int>> {};\n"
            "}\n"
            "struct I {};\n"),
      ElementsAre("dtnn::tls::A", "dtnn::tls::A::C", "dtnn::tls::A::D", "dtnn::tls::A::E",
                  "dtnn::tls::A::G", "dtnn::tls::H", "dtnn::tls::H<int,std::vector<int>>", "I"));
}

TEST(ClassNamesTest, WhatBelongsToItsFileAloneIsLeftOut) {
  EXPECT_THAT(Names("namespace a { namespace { struct B {}; namespace c { struct D {}; } } }\n"
                    "void F() { struct E {}; }\n"
                    "struct G H(struct I* i) { return {}; }\n"
                    "struct J* K() {}\n"
                    "auto l = [] { struct M {}; };\n"
                    "struct { int n; } o;\n"),
              IsEmpty());
}

TEST(ClassNamesTest, DeclarationsCommentsAndLiteralsDefineNothing) {
  EXPECT_THAT(Names("class A;\n"
                    "// struct B {\n"
                    "/* struct C { */\n"
                    "#define D struct E { \\\n"
                    "  struct F {\n"
                    "const char g[] = \"struct H {\", i = '{', j[] = R\"x(struct K {)x\";\n"
                    "friend struct L;\n"
                    "constexpr int m = 1'000;\n"
                    "using N = struct O;\n"),
              IsEmpty());
}

TEST(ClassNamesTest, TheLineIsKnownBehindEverything) {
  const std::vector<ClassName> found = ClassesIn(
      "/* 1\n2 */\n#define A \\\n  4\n// 5\nconst char b[] = R\"(6\n7)\";\nstruct C\n{};\n");
  ASSERT_EQ(found.size(), 1);
  EXPECT_EQ(found[0].line, 9);
}

}  // namespace
}  // namespace dtnn::layering
