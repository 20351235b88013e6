/* The parser of response heads and of chunked content. */
#define _GNU_SOURCE
#include "response.h"

#include <stdlib.h>
#include <strings.h>

enum { CHUNK_LINE_OCTETS_MAX = 1024 };

static bool is_digit(char octet)
{
    return octet >= '0' && octet <= '9';
}

/* The name is a token of RFC 9110 section 5.6.2. */
static bool is_name(const char *octets, size_t length)
{
    if (!length)
        return false;
    for (size_t i = 0; i < length; i++) {
        char lower = octets[i] | 0x20;
        if (!(lower >= 'a' && lower <= 'z') && !is_digit(octets[i])
            && (octets[i] == '\0' || !strchr("!#$%&'*+-.^_`|~", octets[i])))
            return false;
    }
    return true;
}

static bool is_called(const char *octets, size_t length, const char *name)
{
    return length == strlen(name) && !strncasecmp(octets, name, length);
}

static void trim(const char **octets, size_t *length)
{
    while (*length && (**octets == ' ' || **octets == '\t'))
        ++*octets, --*length;
    while (*length
           && ((*octets)[*length - 1] == ' ' || (*octets)[*length - 1] == '\t'))
        --*length;
}

static bool lists(const char *octets, size_t length, const char *word)
{
    while (length) {
        const char *comma = memchr(octets, ',', length);
        size_t part = comma ? (size_t)(comma - octets) : length;
        const char *element = octets;
        size_t element_length = part;
        trim(&element, &element_length);
        if (is_called(element, element_length, word))
            return true;
        part += comma != NULL;
        octets += part;
        length -= part;
    }
    return false;
}

static bool read_decimal(const char *octets, size_t length, uint64_t *value)
{
    if (!length || length > 18)
        return false;
    for (*value = 0; length; octets++, length--) {
        if (!is_digit(*octets))
            return false;
        *value = *value * 10 + (uint64_t)(*octets - '0');
    }
    return true;
}

/* What the field lines of a head have told so far. */
struct fields {
    bool has_length;
    bool has_coding;
    bool closes;
    bool persists;
    uint64_t length;
};

static bool read_field(const char *line, size_t length, struct fields *fields)
{
    const char *colon = memchr(line, ':', length);
    if (!colon || !is_name(line, (size_t)(colon - line)))
        return false;
    size_t name_length = (size_t)(colon - line);
    const char *value = colon + 1;
    size_t value_length = length - name_length - 1;
    trim(&value, &value_length);
    if (is_called(line, name_length, "content-length")) {
        uint64_t stated;
        if (!read_decimal(value, value_length, &stated)
            || (fields->has_length && stated != fields->length))
            return false;
        fields->has_length = true;
        fields->length = stated;
    } else if (is_called(line, name_length, "transfer-encoding")) {
        if (fields->has_coding || !is_called(value, value_length, "chunked"))
            return false;
        fields->has_coding = true;
    } else if (is_called(line, name_length, "connection")) {
        fields->closes |= lists(value, value_length, "close");
        fields->persists |= lists(value, value_length, "keep-alive");
    }
    return true;
}

/* Reads a whole head, the empty line included. */
static bool parse_head(const char *octets, size_t length,
                       struct response_head *head)
{
    const char *end = octets + length - 2;
    if (length < 17 || memcmp(octets, "HTTP/1.", 7)
        || (octets[7] != '0' && octets[7] != '1') || octets[8] != ' '
        || octets[9] < '1' || !is_digit(octets[9]) || !is_digit(octets[10])
        || !is_digit(octets[11]) || (octets[12] != ' ' && octets[12] != '\r'))
        return false;
    struct fields fields = {0};
    const char *line = memmem(octets, length, "\r\n", 2);
    for (line += 2; line < end;) {
        const char *line_end
            = memmem(line, (size_t)(end + 2 - line), "\r\n", 2);
        if (!read_field(line, (size_t)(line_end - line), &fields))
            return false;
        line = line_end + 2;
    }
    if (fields.has_coding && (fields.has_length || octets[7] == '0'))
        return false;
    head->status = (unsigned)(octets[9] - '0') * 100
        + (unsigned)(octets[10] - '0') * 10 + (unsigned)(octets[11] - '0');
    head->closes
        = fields.closes || (octets[7] == '0' && !fields.persists);
    head->content_length = fields.length;
    head->framing = fields.has_coding ? BY_CHUNKS
        : fields.has_length           ? BY_LENGTH
                                      : BY_END;
    return true;
}

static void begin_content(struct response_reader *reader)
{
    struct response_head *head = &reader->head;
    if (head->status < 200 && head->status != 101) {
        response_begin(reader);
        return;
    }
    if (head->status == 204 || head->status == 304
        || reader->without_content) {
        head->framing = BY_LENGTH;
        head->content_length = 0;
    }
    if (head->framing == BY_END)
        head->closes = true;
    reader->left = head->framing == BY_END ? UINT64_MAX : head->content_length;
    if (head->framing == BY_CHUNKS)
        reader->state = IN_CHUNK_SIZE;
    else
        reader->state = reader->left ? IN_CONTENT : COMPLETE;
}

static void remember(struct known_head *known, const char *octets,
                     size_t length, const struct response_head *head)
{
    known->length = 0;
    if (length > sizeof known->octets || head->framing != BY_LENGTH
        || head->closes || head->status < 200)
        return;
    memcpy(known->octets, octets, length);
    known->length = length;
    known->meaning = *head;
}

/* Keeps octets until what they belong to is whole. */
static bool hold(struct response_reader *reader, const char *octets,
                 size_t length)
{
    if (reader->held_length + length > HEAD_OCTETS_MAX)
        return false;
    if (!reader->held && !(reader->held = malloc(HEAD_OCTETS_MAX)))
        return false;
    memcpy(reader->held + reader->held_length, octets, length);
    reader->held_length += length;
    return true;
}

static size_t read_head(struct response_reader *reader,
                        struct known_head *known, const char *octets,
                        size_t length)
{
    size_t before = reader->held_length;
    const char *start = octets;
    size_t available = length;
    if (before) {
        size_t room = HEAD_OCTETS_MAX - before;
        if (!hold(reader, octets, length < room ? length : room)) {
            reader->state = MALFORMED;
            return length;
        }
        start = reader->held;
        available = reader->held_length;
    }
    const char *end = memmem(start, available, "\r\n\r\n", 4);
    if (!end) {
        if (before ? available == HEAD_OCTETS_MAX
                   : !hold(reader, octets, length))
            reader->state = MALFORMED;
        return length;
    }
    size_t head_length = (size_t)(end - start) + 4;
    reader->held_length = 0;
    if (!parse_head(start, head_length, &reader->head)) {
        reader->state = MALFORMED;
        return length;
    }
    begin_content(reader);
    if (reader->state == IN_CONTENT || reader->state == COMPLETE)
        remember(known, start, head_length, &reader->head);
    return head_length - before;
}

static bool read_chunk_size(struct response_reader *reader)
{
    uint64_t size = 0;
    size_t digits = 0;
    for (; digits < reader->held_length; digits++) {
        char octet = reader->held[digits];
        char lower = octet | 0x20;
        unsigned value;
        if (is_digit(octet))
            value = (unsigned)(octet - '0');
        else if (lower >= 'a' && lower <= 'f')
            value = (unsigned)(lower - 'a') + 10;
        else
            break;
        size = size * 16 + value;
    }
    if (!digits || digits > 15
        || (digits < reader->held_length && reader->held[digits] != ';'
            && reader->held[digits] != ' ' && reader->held[digits] != '\t'))
        return false;
    reader->left = size;
    reader->state = size ? IN_CHUNK : IN_TRAILERS;
    return true;
}

static bool end_line(struct response_reader *reader)
{
    size_t length = reader->held_length;
    if (!length || reader->held[length - 1] != '\r')
        return false;
    length = --reader->held_length;
    if (reader->state == IN_CHUNK_SIZE) {
        if (!read_chunk_size(reader))
            return false;
    } else if (reader->state == IN_CHUNK_END) {
        if (length)
            return false;
        reader->state = IN_CHUNK_SIZE;
    } else if (!length) {
        reader->state = COMPLETE;
    } else {
        struct fields ignored = {0};
        if (!read_field(reader->held, length, &ignored))
            return false;
    }
    reader->held_length = 0;
    return true;
}

static size_t read_line(struct response_reader *reader, const char *octets,
                        size_t length)
{
    const char *feed = memchr(octets, '\n', length);
    size_t used = feed ? (size_t)(feed - octets) : length;
    if (reader->held_length + used > CHUNK_LINE_OCTETS_MAX
        || !hold(reader, octets, used) || (feed && !end_line(reader))) {
        reader->state = MALFORMED;
        return length;
    }
    return used + (feed != NULL);
}

static size_t read_content(struct response_reader *reader, size_t length)
{
    size_t used = length < reader->left ? length : (size_t)reader->left;
    reader->content += used;
    if (reader->head.framing == BY_END)
        return used;
    reader->left -= used;
    if (!reader->left)
        reader->state = reader->state == IN_CHUNK ? IN_CHUNK_END : COMPLETE;
    return used;
}

size_t response_read(struct response_reader *reader, struct known_head *known,
                     const char *octets, size_t length)
{
    size_t used = 0;
    while (used < length && reader->state != COMPLETE
           && reader->state != MALFORMED) {
        const char *rest = octets + used;
        if (reader->state == IN_HEAD)
            used += read_head(reader, known, rest, length - used);
        else if (reader->state == IN_CONTENT || reader->state == IN_CHUNK)
            used += read_content(reader, length - used);
        else
            used += read_line(reader, rest, length - used);
    }
    return used;
}

void response_end(struct response_reader *reader)
{
    if (reader->state == IN_CONTENT && reader->head.framing == BY_END)
        reader->state = COMPLETE;
    else if (reader->state != IN_HEAD || reader->held_length)
        reader->state = MALFORMED;
}
