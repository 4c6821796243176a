#include "data/formats/csv.h"

#include "gtest/gtest.h"

namespace dtnn {
namespace {

using Row = std::vector<std::string>;

std::vector<Row> Rows(std::string_view text) {
  CsvReader reader(text, "table");
  std::vector<Row> rows;
  Row row;
  for (;;) {
    const absl::StatusOr<bool> more = reader.Next(row);
    EXPECT_TRUE(more.ok()) << more.status();
    if (!more.ok() || !*more) return rows;
    rows.push_back(row);
  }
}

std::string Error(std::string_view text) {
  CsvReader reader(text, "table");
  Row row;
  for (;;) {
    const absl::StatusOr<bool> more = reader.Next(row);
    if (!more.ok()) return std::string(more.status().message());
    if (!*more) return "no error";
  }
}

TEST(CsvTest, RowsAndFields) {
  EXPECT_EQ(Rows(""), std::vector<Row>{});
  EXPECT_EQ(Rows("a"), (std::vector<Row>{{"a"}}));
  EXPECT_EQ(Rows("a,b\n1,2\n"), (std::vector<Row>{{"a", "b"}, {"1", "2"}}));
  EXPECT_EQ(Rows("a\r,b\r\n"), (std::vector<Row>{{"a\r", "b"}})) << "only the end of a line";
  EXPECT_EQ(Rows("a,b\r\n1,\r\n\r\n\n,\n"), (std::vector<Row>{{"a", "b"}, {"1", ""}, {"", ""}}));
  EXPECT_EQ(Rows("\xef\xbb\xbf"
                 "a,b,\n1\n2,3"),
            (std::vector<Row>{{"a", "b", ""}, {"1"}, {"2", "3"}}));
}

TEST(CsvTest, QuotesHoldCommasLinesAndQuotes) {
  EXPECT_EQ(Rows("\"a,b\",\"c\"\"d\",\"\"\n\"two\nlines\",x\r\n"),
            (std::vector<Row>{{"a,b", "c\"d", ""}, {"two\nlines", "x"}}));
  EXPECT_EQ(Rows("a \"b\" c,d"), (std::vector<Row>{{"a \"b\" c", "d"}}));
}

TEST(CsvTest, BrokenQuotesAreNamedByLine) {
  EXPECT_EQ(Error("a,b\n\"c\nd"), "table, line 2: a quoted field does not end");
  EXPECT_EQ(Error("a\r\n\r\nb,\"c\"\r\n\"d"), "table, line 4: a quoted field does not end");
  EXPECT_EQ(Error("\"x\ny\"\n\n\"c\"d\n"),
            "table, line 4: a quoted field is followed by something other than a separator");
}

TEST(CsvTest, ColumnsAreFoundByName) {
  const Row header = {"a", "b c"};
  EXPECT_EQ(FindColumn(header, "b c", "table").value(), 1u);
  EXPECT_EQ(FindColumn(header, "b", "table").status().message(),
            "table: has no column \"b\"; its columns are a, b c");
}

}  // namespace
}  // namespace dtnn
