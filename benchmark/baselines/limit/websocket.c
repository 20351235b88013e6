#define _GNU_SOURCE
#include "websocket.h"

#include <strings.h>

enum {
    KEY_OCTETS = 24,
    DIGEST_OCTETS = 20,
    BLOCK_OCTETS = 64,
    MASK_OCTETS = 4,
    CLOSE = 8,
    PING = 9,
    PONG = 10,
};

static uint32_t turned(uint32_t word, unsigned count)
{
    return word << count | word >> (32 - count);
}

/* One block of SHA-1 (RFC 3174). */
static void digest_block(uint32_t state[5], const unsigned char *block)
{
    uint32_t words[80];
    for (int i = 0; i < 16; i++) {
        memcpy(&words[i], block + 4 * i, 4);
        words[i] = __builtin_bswap32(words[i]);
    }
    for (int i = 16; i < 80; i++)
        words[i] = turned(words[i - 3] ^ words[i - 8] ^ words[i - 14] ^
                              words[i - 16],
                          1);
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3],
             e = state[4];
#pragma GCC unroll 20
    for (int i = 0; i < 80; i++) {
        uint32_t mixed = i < 20   ? (d ^ (b & (c ^ d))) + 0x5A827999
                         : i < 40 ? (b ^ c ^ d) + 0x6ED9EBA1
                         : i < 60 ? ((b & c) | (d & (b | c))) + 0x8F1BBCDC
                                  : (b ^ c ^ d) + 0xCA62C1D6;
        uint32_t next = turned(a, 5) + mixed + e + words[i];
        e = d, d = c, c = turned(b, 30), b = a, a = next;
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d, state[4] += e;
}

/* What is digested is of one length always: so is its padding. */
static void digest_key(unsigned char *digest, const char *key)
{
    static const char suffix[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    uint32_t state[5] = {0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476,
                         0xC3D2E1F0};
    unsigned char blocks[2 * BLOCK_OCTETS] = {0};
    size_t length = KEY_OCTETS + sizeof suffix - 1;
    memcpy(blocks, key, KEY_OCTETS);
    memcpy(blocks + KEY_OCTETS, suffix, sizeof suffix - 1);
    blocks[length] = 0x80;
    blocks[sizeof blocks - 2] = (unsigned char)(8 * length >> 8);
    blocks[sizeof blocks - 1] = (unsigned char)(8 * length);
    digest_block(state, blocks);
    digest_block(state, blocks + BLOCK_OCTETS);
    for (int i = 0; i < 5; i++) {
        state[i] = __builtin_bswap32(state[i]);
        memcpy(digest + 4 * i, &state[i], 4);
    }
}

static char *write_base64(char *into, const unsigned char *octets)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "abcdefghijklmnopqrstuvwxyz0123456789+/";
    unsigned char padded[DIGEST_OCTETS + 1] = {0};
    memcpy(padded, octets, DIGEST_OCTETS);
    for (int i = 0; i <= DIGEST_OCTETS; i += 3) {
        uint32_t three = (uint32_t)padded[i] << 16 |
                         (uint32_t)padded[i + 1] << 8 | padded[i + 2];
        for (int shift = 18; shift >= 0; shift -= 6)
            *into++ = letters[three >> shift & 63];
    }
    into[-1] = '=';
    return into;
}

static const char *key_of(const char *head, const char *head_end)
{
    static const char name[] = "sec-websocket-key:";
    const char *line = head;
    while ((line = memchr(line, '\n', (size_t)(head_end - line)))) {
        line++;
        if ((size_t)(head_end - line) < sizeof name + KEY_OCTETS)
            return NULL;
        if (!strncasecmp(line, name, sizeof name - 1)) {
            line += sizeof name - 1;
            while (*line == ' ')
                line++;
            return head_end - line < KEY_OCTETS ? NULL : line;
        }
    }
    return NULL;
}

size_t accept_websocket(char *into, const char *head, const char *head_end)
{
    unsigned char digest[DIGEST_OCTETS];
    const char *key = key_of(head, head_end);
    if (!key)
        return 0;
    digest_key(digest, key);
    char *end = stpcpy(into, "HTTP/1.1 101 Switching Protocols\r\n"
                             "Upgrade: websocket\r\nConnection: Upgrade\r\n"
                             "Sec-WebSocket-Accept: ");
    end = write_base64(end, digest);
    end = stpcpy(end, "\r\n\r\n");
    return (size_t)(end - into);
}

static void unmask(char *payload, size_t length, const char *key)
{
    uint32_t word;
    uint64_t pair;
    size_t i = 0;
    memcpy(&word, key, sizeof word);
    pair = (uint64_t)word << 32 | word;
    for (; i + sizeof pair <= length; i += sizeof pair) {
        uint64_t masked;
        memcpy(&masked, payload + i, sizeof masked);
        masked ^= pair;
        memcpy(payload + i, &masked, sizeof masked);
    }
    for (; i < length; i++)
        payload[i] ^= key[i % MASK_OCTETS];
}

const char *echo_frames(struct gathered *into, char *octets, const char *end,
                        bool *is_closed)
{
    while (end - octets >= 2 + MASK_OCTETS) {
        const unsigned char *head = (const unsigned char *)octets;
        size_t length = head[1] & 127, head_length = 2;
        if (length > 125) {
            size_t count = length == 126 ? 2 : 8;
            if ((size_t)(end - octets) < 2 + count)
                break;
            length = 0;
            for (size_t i = 0; i < count; i++)
                length = length << 8 | head[2 + i];
            head_length += count;
        }
        char *key = octets + head_length, *payload = key + MASK_OCTETS;
        if (payload > end || (size_t)(end - payload) < length)
            break;
        unmask(payload, length, key);
        /* The answer's head belongs in front of the payload, where the key
         * was. The last octets to be overwritten are read before. */
        char *answer = payload - head_length;
        unsigned opcode = octets[0] & 15;
        memmove(answer, octets, head_length);
        answer[1] &= 127;
        if (opcode == PING)
            answer[0] += PONG - PING;
        if (opcode != PONG)
            gather(into, answer, head_length + length);
        octets = payload + length;
        if (opcode == CLOSE) {
            *is_closed = true;
            break;
        }
    }
    return octets;
}
