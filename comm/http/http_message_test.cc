#include "comm/http/http_message.h"

#include "gtest/gtest.h"

namespace dtnn {
namespace {

TEST(HttpMessageTest, HeadersAreFoundInAnyCaseAndQueriesAsTheyAre) {
  HttpRequest request;
  request.query = {{"top", "3"}, {"Top", "4"}, {"top", "5"}, {"none", ""}};
  request.headers = {{"Host", "a"}, {"X-Y", "1"}, {"hOST", "b"}};
  ASSERT_NE(request.Header("HOST"), nullptr);
  EXPECT_EQ(*request.Header("HOST"), "a") << "the first one";
  EXPECT_EQ(request.Count("host"), 2);
  EXPECT_EQ(request.Count("X-Y"), 1);
  EXPECT_EQ(request.Count("X"), 0);
  EXPECT_EQ(request.Header("Hos"), nullptr);
  EXPECT_EQ(request.Header("Hosts"), nullptr);
  ASSERT_NE(request.Query("top"), nullptr);
  EXPECT_EQ(*request.Query("top"), "3");
  EXPECT_EQ(*request.Query("Top"), "4");
  EXPECT_EQ(*request.Query("none"), "");
  EXPECT_EQ(request.Query("to"), nullptr);
}

TEST(HttpMessageTest, ErrorsAreJson) {
  const HttpAnswer answer = HttpError(404, "no \"x\"");
  EXPECT_EQ(answer.code, 404);
  EXPECT_EQ(answer.body, "{\"error\": \"no \\\"x\\\"\"}\n");
  EXPECT_EQ(answer.type, "application/json");
  EXPECT_TRUE(answer.headers.empty());
}

}  // namespace
}  // namespace dtnn
