#include "models/observe/report/testing/page_checker.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <limits>
#include <set>

#include "absl/strings/numbers.h"
#include "tensor/text/one_line.h"
#include "tensor/text/str_cat.h"

namespace dtnn::testing {
namespace {

constexpr size_t kMostBytes = 2'000'000;
constexpr std::pair<std::string_view, char> kEntities[] = {
    {"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&#39;", '\''}};

bool IsNameByte(char c) { return std::isalnum(uint8_t(c)) || c == '-' || c == ':' || c == '!'; }

class Parser {
 public:
  Parser(std::string_view html, std::vector<std::string>& problems)
      : html_(html), problems_(problems) {}

  void Run(Element& root) {
    open_ = {&root};
    constexpr std::string_view kDoctype = "<!DOCTYPE html>";
    if (html_.starts_with(kDoctype)) at_ = kDoctype.size();
    while (at_ < html_.size() && problems_.size() < 20) {
      if (html_[at_] == '<') {
        Tag();
      } else {
        Text(html_.substr(at_, html_.find('<', at_) - at_));
      }
    }
    for (size_t i = 1; i < open_.size(); ++i)
      Problem(StrCat("<", open_[i]->name, "> is not closed"));
  }

 private:
  void Problem(std::string_view what) {
    const size_t line = size_t(std::count(html_.begin(), html_.begin() + long(at_), '\n')) + 1;
    problems_.push_back(StrCat("line ", line, ": ", what));
  }

  std::string Decode(std::string_view text) {
    std::string decoded;
    for (size_t i = 0; i < text.size(); ++i) {
      const auto control = [](char c) { return uint8_t(c) < 0x20 && c != '\n'; };
      if (control(text[i]) || text[i] == '>' || text[i] == '<')
        Problem("a byte that must be escaped");
      if (text[i] != '&') {
        decoded += text[i];
        continue;
      }
      const auto* entity = std::ranges::find_if(
          kEntities, [&](const auto& known) { return text.substr(i).starts_with(known.first); });
      if (entity == std::end(kEntities)) {
        Problem("an entity that is none");
        continue;
      }
      decoded += entity->second;
      i += entity->first.size() - 1;
    }
    std::string lines = decoded;
    std::ranges::replace(lines, '\n', ' ');
    if (OneLine(lines, std::numeric_limits<size_t>::max()) != lines) Problem("broken UTF-8");
    return decoded;
  }

  void Text(std::string_view text) {
    const std::string decoded = Decode(text);
    for (Element* element : open_) element->text += decoded;
    at_ += text.size();
  }

  std::string Name() {
    const size_t begin = at_;
    while (at_ < html_.size() && IsNameByte(html_[at_])) ++at_;
    return std::string(html_.substr(begin, at_ - begin));
  }

  bool Take(std::string_view token) {
    if (!html_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }

  void Tag() {
    ++at_;
    const bool closes = Take("/");
    const std::string name = Name();
    if (name.empty()) return Problem("a tag without a name");
    if (closes) {
      if (!Take(">")) Problem("a closing tag with attributes");
      if (open_.size() < 2 || open_.back()->name != name) {
        return Problem(StrCat("</", name, "> closes what is not open"));
      }
      open_.pop_back();
      return;
    }
    auto element = std::make_unique<Element>();
    element->name = name;
    while (at_ < html_.size() && html_[at_] != '>' && html_[at_] != '/') Attribute(*element);
    const bool empty = Take("/");
    if (!Take(">")) {
      Problem(StrCat("<", name, "> does not end"));
      at_ = html_.size();
    }
    Element* const added = element.get();
    open_.back()->children.push_back(std::move(element));
    if (empty) return;
    open_.push_back(added);
    if (name != "style") return;
    const size_t end = std::min(html_.find("</style>", at_), html_.size());
    added->text = html_.substr(at_, end - at_);
    at_ = end;
  }

  void Attribute(Element& element) {
    if (!Take(" ")) {
      Problem(StrCat("<", element.name, ">: no blank before an attribute"));
      at_ = html_.size();
      return;
    }
    const std::string key = Name();
    if (key.empty() || !Take("=\"")) {
      Problem(StrCat("<", element.name, ">: an attribute without a quoted value"));
      at_ = html_.size();
      return;
    }
    const size_t end = std::min(html_.find('"', at_), html_.size());
    if (!element.attributes.emplace(key, Decode(html_.substr(at_, end - at_))).second) {
      Problem(StrCat("<", element.name, ">: ", key, " twice"));
    }
    at_ = std::min(end + 1, html_.size());
  }

  const std::string_view html_;
  std::vector<std::string>& problems_;
  size_t at_ = 0;
  std::vector<Element*> open_;
};

void Visit(const Element& element, const std::function<void(const Element&)>& visit) {
  for (const auto& child : element.children) {
    visit(*child);
    Visit(*child, visit);
  }
}

void CheckSafety(const Element& element, std::vector<std::string>& problems) {
  const std::set<std::string_view> forbidden = {"script", "iframe", "object", "embed", "link",
                                                "base",   "form",   "audio",  "video"};
  if (forbidden.contains(element.name)) problems.push_back("a <" + element.name + ">");
  for (const auto& [key, value] : element.attributes) {
    if (key.starts_with("on")) problems.push_back("an attribute " + key);
    const bool loads = key == "src" || key == "href" || key == "xlink:href";
    if (loads && !value.starts_with("data:image/png;base64,")) {
      problems.push_back(key + " of " + value);
    }
  }
  if (element.name == "style" && (element.text.find("url(") != std::string::npos ||
                                  element.text.find("@import") != std::string::npos)) {
    problems.emplace_back("a style that loads something");
  }
}

void CheckWords(const Element& element, std::vector<std::string>& problems) {
  if (element.name == "img" && element.Attribute("alt").empty()) {
    problems.emplace_back("an <img> without alt");
  }
  if (element.name == "svg") {
    const bool titled = !element.children.empty() && element.children[0]->name == "title" &&
                        !element.children[0]->text.empty();
    if (element.Attribute("role") != "img" || !titled)
      problems.emplace_back("an <svg> without title");
    if (element.All("desc").empty() || element.All("desc")[0]->text.empty()) {
      problems.emplace_back("an <svg> without a description");
    }
  }
  if (element.name == "th" && element.Attribute("scope").empty()) {
    problems.emplace_back("a <th> without scope");
  }
}

void CheckTable(const Element& element, std::vector<std::string>& problems) {
  if (element.name != "table") return;
  if (element.All("thead").size() != 1) problems.emplace_back("a table without a head");
  const std::vector<const Element*> rows = element.All("tr");
  for (const Element* row : rows) {
    if (row->children.size() == rows[0]->children.size()) continue;
    problems.push_back("a row of other length: " + row->text);
  }
}

void CheckIds(const Element& root, std::vector<std::string>& problems) {
  std::set<std::string> ids;
  Visit(root, [&](const Element& element) {
    const std::string id = element.Attribute("id");
    if (!id.empty() && !ids.insert(id).second) problems.push_back("id " + id + " twice");
  });
  Visit(root, [&](const Element& element) {
    std::string rest = element.Attribute("aria-labelledby");
    while (!rest.empty()) {
      const std::string id = rest.substr(0, rest.find(' '));
      if (!ids.contains(id)) problems.push_back("no element has the id " + id);
      rest.erase(0, std::min(id.size() + 1, rest.size()));
    }
  });
}

}  // namespace

std::string Element::Attribute(const std::string& key) const {
  const auto found = attributes.find(key);
  return found == attributes.end() ? "" : found->second;
}

std::vector<const Element*> Element::All(std::string_view name) const {
  std::vector<const Element*> found;
  Visit(*this, [&](const Element& element) {
    if (element.name == name) found.push_back(&element);
  });
  return found;
}

CheckedPage CheckFragment(std::string_view html) {
  CheckedPage page;
  Parser(html, page.problems).Run(page.root);
  Visit(page.root, [&](const Element& element) {
    CheckSafety(element, page.problems);
    CheckWords(element, page.problems);
    CheckTable(element, page.problems);
  });
  CheckIds(page.root, page.problems);
  return page;
}

CheckedPage CheckPage(std::string_view html) {
  CheckedPage page = CheckFragment(html);
  const auto problem = [&](std::string what) { page.problems.push_back(std::move(what)); };
  if (!html.starts_with("<!DOCTYPE html>")) problem("no doctype");
  if (html.size() > kMostBytes) problem(StrCat(html.size(), " bytes"));
  const std::vector<const Element*> top = page.root.All("html");
  if (top.size() != 1 || top[0]->Attribute("lang").empty()) problem("no language");
  if (page.root.All("h1").size() != 1) problem("not one h1");
  if (page.root.All("main").size() != 1) problem("not one main");
  const std::vector<const Element*> heads = page.root.All("head");
  if (heads.size() != 1 || heads[0]->All("title").size() != 1) problem("not one title");
  return page;
}

std::vector<std::vector<double>> NumbersOf(const Element& table) {
  std::vector<std::vector<double>> numbers;
  for (const Element* body : table.All("tbody")) {
    for (const Element* row : body->All("tr")) {
      std::vector<double>& values = numbers.emplace_back();
      for (const auto& cell : row->children) {
        const std::vector<const Element*> data = cell->All("data");
        const std::string text = data.empty() ? cell->text : data[0]->Attribute("value");
        double value = std::numeric_limits<double>::quiet_NaN();
        if (!absl::SimpleAtod(text, &value)) value = std::numeric_limits<double>::quiet_NaN();
        values.push_back(value);
      }
    }
  }
  return numbers;
}

}  // namespace dtnn::testing
