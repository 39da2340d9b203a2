// What the user may not expect of a table that was read.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "limpid/core/in_quotes.h"
#include "limpid/core/number_text.h"
#include "limpid/data/table/detail/source.h"

namespace limpid::detail {
namespace {

// Whether a value has this form, where 0 is for a digit and 9 for any number of them.
bool has_form(std::string_view text, std::string_view form) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  for (const char f : form) {
    if (text.empty() || (f == '0' || f == '9' ? !digit(text.front()) : text.front() != f))
      return false;
    text.remove_prefix(1);
    while (f == '9' && !text.empty() && digit(text.front())) text.remove_prefix(1);
  }
  return true;
}

bool is_date(const std::string& value) {
  const std::string_view forms[] = {"0000-00-00", "9/9/0", "9.9.0000"};
  return std::any_of(std::begin(forms), std::end(forms),
                     [&](std::string_view form) { return has_form(value, form); });
}

bool is_percentage(const std::string& value) {
  return value.size() > 1 && value.back() == '%' && has_form(value, "9");
}

// Text that means numbers.
void note_text(TableSource& source, const CsvColumn& column) {
  const auto all = [&](bool (*is)(const std::string&)) {
    return !column.categories.empty() &&
           std::all_of(column.categories.begin(), column.categories.end(), is);
  };
  const auto note = [&](std::string_view what, std::string_view instead) {
    source.notes.push_back(fmt::format("column {} has {}, which are {} categories; {}",
                                       in_quotes(column.name), what, column.categories.size(),
                                       instead));
  };
  if (all(is_date))
    note("dates",
         fmt::format("date={} reads them as numbers, if they are like 2026-03-01", column.name));
  if (all(is_percentage)) note("percentages", "without the % they are numbers");
}

// Numbers that rounding to f32 changed by more than a small part of their range.
void note_rounding(TableSource& source, const CsvColumn& column) {
  constexpr double kSmall = 1e-4;
  const double range = column.most - column.least;
  if (column.merged == 0 && !(column.rounding > kSmall * range && range > 0)) return;
  source.notes.push_back(fmt::format(
      "column {} is rounded to f32 by up to {}, and {} equal the number before only since then; "
      "subtract a constant such as {} from it",
      in_quotes(column.name), short_number(column.rounding), counted(column.merged, "number"),
      column.least));
}

}  // namespace

void note_columns(TableSource& source, const TableOptions& options) {
  if (!source.table.header && !options.text.header)
    source.notes.insert(source.notes.begin(),
                        "the first line has a number and is taken as a row; header=yes takes it "
                        "as the names of the columns");
  for (const CsvColumn* column : source.features)
    if (column->categorical && source.categorical.count(column->name) == 0)
      note_text(source, *column);
  for (const auto* columns : {&source.features, &source.targets})
    for (const CsvColumn* column : *columns)
      if (!column->categorical) note_rounding(source, *column);
}

void note_task(TableSource& source, Task task) {
  constexpr std::size_t kFew = 20;
  const CsvColumn& target = *source.targets.front();
  if (task != Task::kRegression || source.targets.size() > 1 || target.categorical) return;
  const std::set<float> distinct = numbers_of(target);
  const bool integers =
      std::all_of(distinct.begin(), distinct.end(), [](float x) { return x == std::trunc(x); });
  if (!integers || distinct.size() < 2 || distinct.size() > kFew ||
      2 * distinct.size() > source.rows())
    return;
  source.notes.push_back(fmt::format(
      "target {} has {} different integers and is predicted as a number; task=classification "
      "predicts one of them",
      in_quotes(target.name), distinct.size()));
}

}  // namespace limpid::detail
